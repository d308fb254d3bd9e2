/* log.h - one line to stderr, for mains only (libraries return errors)
 * The logger is the one global. SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_LOG_H
#define MUSTER_LOG_H

enum log_level { LOG_ERROR = 0, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
void log_line(enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)

#endif
