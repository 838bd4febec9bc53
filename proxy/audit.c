#include "proxy/audit.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdname.h"
#include "base/guard.h"
#include "base/jsonout.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "policy/refusal.h"
#include "proxy/audit_chain.h"
#include "proxy/audit_journal.h"

#define AUDIT_BUFFER (64 * 1024) /* written when full or at the end of the loop's turn */
#define PIPE_CHUNK   4096	 /* PIPE_BUF: a writable pipe takes so much without blocking */

#define JOURNALD "journald"

#define TEXT_MAX 512 /* of a rule's text and of its file's name */

/* @torn: the last byte written was not the end of a line; @lock: held while a chain is ours */
struct audit {
	int fd, lock;
	bool regular, journal;
	bool told, torn;
	bool chained;
	struct audit_chain chain;
	uint64_t dropped;
	struct event flush;
	size_t len;
	char buf[AUDIT_BUFFER];
};

static void digits(char *out, size_t n, unsigned v)
{
	for (; n > 0; v /= 10)
		out[--n] = (char)('0' + v % 10);
}

/* By hand: strftime() and snprintf() were a tenth of what a refusal costs outside the kernel. */
void audit_put_time(struct jsonout *j, const struct timespec *now)
{
	char text[] = "0000-00-00T00:00:00.000Z";
	struct tm tm;

	(void)gmtime_r(&now->tv_sec, &tm);
	digits(text, 4, (unsigned)tm.tm_year + 1900);
	digits(text + 5, 2, (unsigned)tm.tm_mon + 1);
	digits(text + 8, 2, (unsigned)tm.tm_mday);
	digits(text + 11, 2, (unsigned)tm.tm_hour);
	digits(text + 14, 2, (unsigned)tm.tm_min);
	digits(text + 17, 2, (unsigned)tm.tm_sec);
	digits(text + 20, 3, (unsigned)(now->tv_nsec / 1000000));
	jsonout_str(j, "time", text);
}

static void put_target(struct jsonout *j, const struct proxy_event *ev)
{
	jsonout_strn(j, "host", ev->target->host.s, ev->target->host.len);
	jsonout_uint(j, "port", ev->target->port);
	jsonout_str(j, "via", target_via_name(ev->target->via));
}

static void put_address(struct jsonout *j, const struct addr *a)
{
	char text[ADDR_TEXT_MAX];

	jsonout_str(j, "address", a->family == AF_UNSPEC ? NULL : addr_format(a, text));
}

/* Text of the policy's author, cut so that a line always fits. */
static void put_cut(struct jsonout *j, const char *key, const char *s)
{
	if (s)
		jsonout_strn(j, key, s, strnlen(s, TEXT_MAX));
	else
		jsonout_str(j, key, NULL);
}

/* What was said, so that a report of the log need not know the policy. */
static void put_words(struct jsonout *j, const struct proxy_event *ev)
{
	char text[REFUSAL_MAX] UNINITIALIZED;

	put_cut(j, "text", refusal_format(ev->target, &ev->decision, text));
	if (*refusal_remedy(ev->target, &ev->decision, text))
		put_cut(j, "remedy", text);
	if (ev->hint)
		put_cut(j, "hint", ev->hint);
}

static void put_decision(struct jsonout *j, const struct proxy_event *ev)
{
	const struct decision *d = &ev->decision;

	jsonout_str(j, "verdict", d->verdict == VERDICT_ALLOW ? "allow" : "deny");
	jsonout_str(j, "code", policy_code_name(d->code));
	put_target(j, ev);
	if (!ev->target->host.len && d->said && *d->said)
		put_cut(j, "asked", d->said);
	put_cut(j, "rule", d->rule ? d->rule->text : NULL);
	put_cut(j, "origin", d->rule ? d->rule->file : NULL);
	jsonout_uint(j, "line", d->rule ? d->rule->line : 0);
	put_cut(j, "by", d->by);
	if (ev->program) {
		put_cut(j, "program", ev->program);
		jsonout_uint(j, "pid", ev->pid);
	}
	put_address(j, &d->addr);
	if (d->code != CODE_OK)
		put_words(j, ev);
}

static void put_close(struct jsonout *j, const struct proxy_event *ev)
{
	put_target(j, ev);
	put_address(j, &ev->addr);
	jsonout_uint(j, "bytes_up", ev->bytes_up);
	jsonout_uint(j, "bytes_down", ev->bytes_down);
	jsonout_uint(j, "duration_us", ev->duration_us);
	jsonout_str(j, "reason", ev->reason);
}

size_t audit_format(char out[AUDIT_LINE_MAX], const struct proxy_event *ev,
		    const struct timespec *now, unsigned session)
{
	bool decision = ev->kind == PROXY_EVENT_DECISION;
	struct jsonout j;

	jsonout_begin(&j, out, AUDIT_LINE_MAX);
	jsonout_str(&j, "event", decision ? "decision" : "close");
	if (decision)
		put_decision(&j, ev);
	else
		put_close(&j, ev);
	if (session)
		jsonout_uint(&j, "session", session);
	jsonout_uint(&j, "conn", ev->conn);
	audit_put_time(&j, now);
	return jsonout_end(&j);
}

static void drop(struct audit *a, int code)
{
	/* A newline in front ends what is half written already: see gather(). */
	for (size_t i = 1; i < a->len; i++)
		a->dropped += a->buf[i] == '\n';
	a->len = 0;
	if (!a->told)
		log_warn("audit log: %s; lines are lost from here on", strerror(code));
	a->told = true;
}

/* What may be written at once without blocking; 0 when nothing. */
static size_t room(const struct audit *a, size_t left)
{
	struct pollfd p = { .fd = a->fd, .events = POLLOUT };

	if (a->regular)
		return left;
	if (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT))
		return 0;
	return left < PIPE_CHUNK ? left : PIPE_CHUNK;
}

/* Return: how many of the gathered bytes were written; fewer than all with errno. */
static size_t write_bytes(struct audit *a)
{
	size_t done = 0;

	while (done < a->len) {
		size_t n = room(a, a->len - done);
		ssize_t w;

		if (n == 0) {
			errno = EAGAIN;
			break;
		}
		w = write(a->fd, a->buf + done, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			break;
		done += (size_t)w;
		a->torn = a->buf[done - 1] != '\n';
	}
	return done;
}

/* The same for the journal: an entry for each line. */
static size_t write_entries(struct audit *a)
{
	char entry[AUDIT_JOURNAL_MAX];
	size_t done = 0;

	while (done < a->len) {
		const char *line = a->buf + done;
		size_t n = (size_t)((const char *)memchr(line, '\n', a->len - done) - line) + 1;
		size_t len = audit_journal_format(line, n, entry);

		if (len == 0)
			a->dropped++;
		else if (send(a->fd, entry, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
		done += n;
	}
	return done;
}

static void flush(struct audit *a)
{
	size_t done = a->journal ? write_entries(a) : write_bytes(a);

	if (done == a->len) {
		a->len = 0;
		return;
	}
	memmove(a->buf, a->buf + done, a->len - done);
	a->len -= done;
	/* A slow reader gets the rest later, as long as there is room for it here. */
	if (a->regular || errno != EAGAIN || a->len > AUDIT_BUFFER - AUDIT_LINE_MAX)
		drop(a, errno);
}

static void flush_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	flush(arg);
}

bool audit_is_path(const char *where)
{
	size_t n = strlen(JOURNALD);

	return !fdname_is(where) &&
	       (strncmp(where, JOURNALD, n) != 0 || (where[n] && where[n] != ':'));
}

/* O_NONBLOCK: never waits for the other end of a named pipe. */
int audit_open_file(const char *where, struct error *err)
{
	CLEANUP_CLOSE int fd = -1;
	struct stat st;

	if (strcmp(where, "-") == 0)
		return error_set(err, 0,
				 "'-' is no audit log: say fd:1 for standard output, fd:2 for "
				 "standard error, or ./- for a file");
	fd = guard_open(where, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, 0600);

	if (fd < 0 && errno == ELOOP)
		return error_set(
			err, 0,
			"the audit log '%s' is a symbolic link, or one leads there that an "
			"earlier run may have left; name what it leads to",
			where);
	if (fd < 0 && errno != ENXIO)
		return error_set(err, errno, "cannot open the audit log '%s'", where);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(err, 0,
				 "the audit log '%s' is not a regular file; open it yourself and "
				 "say fd:N",
				 where);
	return take_fd(&fd);
}

static int open_sink(struct audit *a, const char *where, struct error *err)
{
	size_t n = strlen(JOURNALD);

	if (fdname_is(where))
		return fdname_open(where, "the audit log", err);
	if (audit_is_path(where))
		return audit_open_file(where, err);
	a->journal = true;
	return audit_journal_open(where[n] ? where + n + 1 : AUDIT_JOURNAL_SOCKET, err);
}

/*
 * The last line of a file that has one, into @c where it is of a chain and whole.
 * Return: 1 if it is, 0 if not, -1 with errno.
 */
static int read_chain(struct audit_chain *c, int fd, off_t size)
{
	char tail[AUDIT_LINE_MAX + 1];
	off_t from = size > (off_t)sizeof(tail) ? size - (off_t)sizeof(tail) : 0;
	ssize_t n = pread(fd, tail, sizeof(tail), from);
	const char *line;

	if (n <= 0)
		return n == 0 ? 0 : -1;
	line = n > 1 && tail[n - 1] == '\n' ? memrchr(tail, '\n', (size_t)n - 1) : NULL;
	line = line ? line + 1 : tail;
	return tail[n - 1] == '\n' && audit_chain_resume(c, line, (size_t)(tail + n - 1 - line));
}

/* Goes on behind the last line of the file, which must be whole. */
static int resume(struct audit *a, int fd, off_t size, const char *where, struct error *err)
{
	int rc = read_chain(&a->chain, fd, size);

	if (rc < 0)
		return error_set(err, errno, "cannot read the audit log '%s'", where);
	if (rc == 0)
		return error_set(err, 0,
				 "'%s' does not end in a line of a chain ('sbx-net audit verify' "
				 "says more); name another file, or move this one away",
				 where);
	return 0;
}

/* A line without a seal would break a chain that is there. Who may not read the file, cannot tell. */
static int refuse_chain(const struct audit *a, const char *where, struct error *err)
{
	struct audit_chain chain;
	struct stat st;
	CLEANUP_CLOSE int fd = -1;

	if (!a->regular || fdname_is(where))
		return 0;
	fd = guard_open(where, O_RDONLY | O_NOCTTY, 0);
	audit_chain_init(&chain);
	if (fd < 0 || fstat(fd, &st) < 0 || read_chain(&chain, fd, st.st_size) <= 0)
		return 0;
	return error_set(err, 0, "'%s' is a chain: add --audit-chain, or name another file", where);
}

/* A file's chain has one writer at a time. */
static int start_chain(struct audit *a, const char *where, struct error *err)
{
	struct stat st;

	a->chained = true;
	audit_chain_init(&a->chain);
	if (!a->regular || fdname_is(where))
		return 0;
	a->lock = guard_open(where, O_RDONLY | O_NOCTTY, 0);
	if (a->lock < 0 || fstat(a->lock, &st) < 0)
		return error_set(err, errno, "cannot read the audit log '%s'", where);
	if (flock(a->lock, LOCK_EX | LOCK_NB) < 0)
		return error_set(err, errno, "another run writes to the chain of '%s'", where);
	return st.st_size > 0 ? resume(a, a->lock, st.st_size, where, err) : 0;
}

struct audit *audit_open(struct event_base *base, const char *where, bool chained,
			 struct error *err)
{
	struct audit *a = xcalloc(1, sizeof(*a));
	struct stat st;

	a->lock = -1;
	(void)event_assign(&a->flush, base, -1, 0, flush_cb, a);
	a->fd = open_sink(a, where, err);
	a->regular = a->fd >= 0 && fstat(a->fd, &st) == 0 && S_ISREG(st.st_mode);
	if (a->fd < 0 || (chained ? start_chain(a, where, err) : refuse_chain(a, where, err)) < 0) {
		audit_close(a);
		return NULL;
	}
	return a;
}

/* Takes a line as it is to be written. */
static void gather(struct audit *a, const char *line, size_t n)
{
	if (a->len + n + 1 > AUDIT_BUFFER)
		flush(a);
	if (a->len == 0)
		event_active(&a->flush, EV_TIMEOUT, 0);
	if (a->len + n + 1 > AUDIT_BUFFER) {
		a->dropped++;
		return;
	}
	/* Half a line of before stays alone. */
	if (a->len == 0 && a->torn)
		a->buf[a->len++] = '\n';
	memcpy(a->buf + a->len, line, n);
	a->len += n;
}

void audit_write(struct audit *a, const char *line, size_t n)
{
	char sealed[AUDIT_LINE_MAX + AUDIT_CHAIN_MEMBER] UNINITIALIZED;

	if (n < 3 || n > AUDIT_LINE_MAX)
		return;
	if (a->chained) {
		memcpy(sealed, line, n);
		n = audit_chain_seal(&a->chain, sealed, n);
		line = sealed;
	}
	gather(a, line, n);
}

void audit_event(struct audit *a, const struct proxy_event *ev, unsigned session)
{
	char line[AUDIT_LINE_MAX] UNINITIALIZED;
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	audit_write(a, line, audit_format(line, ev, &now, session));
}

void audit_close(struct audit *a)
{
	if (!a)
		return;
	flush(a);
	if (a->len)
		drop(a, EAGAIN);
	if (a->dropped)
		log_warn("audit log: %" PRIu64 " lines were lost", a->dropped);
	(void)event_del(&a->flush);
	cleanup_close(&a->fd);
	cleanup_close(&a->lock);
	free(a);
}
