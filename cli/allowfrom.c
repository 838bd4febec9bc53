#include "cli/allowfrom.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/shellword.h"
#include "base/xalloc.h"
#include "cli/hired.h"
#include "cli/hiredenv.h"
#include "cli/layers/layers.h"
#include "cli/untouched.h"
#include "netns/ifaddrs.h"

#define ANSWER_MAX (256 * 1024) /* bytes of a tool's answer */
#define TOOL_MS	   20000	/* npm takes a second or two */

/* ---- which lines of an answer count */

static bool starts_entry(const char *line, const char *key)
{
	size_t n = strlen(key);

	return strncmp(line, key, n) == 0 && line[n + strspn(line + n, " \t")] == '=';
}

/* "@scope:registry = ..." */
static bool is_scope(const char *line)
{
	const char *colon = strchr(line, ':');

	return line[0] == '@' && colon && starts_entry(colon + 1, "registry");
}

static bool is_index(const char *line)
{
	return strstr(line, "index-url=") || strstr(line, "find-links=");
}

static bool is_source(const char *line)
{
	line += strspn(line, " \t");
	return starts_entry(line, "registry") || starts_entry(line, "index") ||
	       starts_entry(line, "replace-with");
}

/*
 * What is asked. @words: the program and what it is told, where the tool has one to be asked; cargo has none,
 * and its file is read. @counts: NULL if every line does. @repository: it is asked about the working
 * directory. @fallback: only when what was asked before has named nothing.
 */
static const struct question {
	const char *tool;
	const char *argv[6];
	enum allowfrom_words words;
	bool (*counts)(const char *line);
	bool repository;
	bool fallback;
} questions[] = {
	{ .tool = "npm", .argv = { "npm", "config", "get", "registry" }, .words = ALLOWFROM_URLS },
	{ .tool = "npm",
	  .argv = { "npm", "config", "list" },
	  .words = ALLOWFROM_URLS,
	  .counts = is_scope },
	{ .tool = "apt",
	  .argv = { "apt-get", "indextargets", "--format", "$(SITE)" },
	  .words = ALLOWFROM_URLS },
	{ .tool = "pip",
	  .argv = { "pip", "config", "list" },
	  .words = ALLOWFROM_URLS,
	  .counts = is_index },
	{ .tool = "pip",
	  .argv = { "python3", "-c",
		    "from pip._internal.models.index import PyPI as p; "
		    "print(p.url, 'https://' + p.file_storage_domain)" },
	  .words = ALLOWFROM_URLS,
	  .fallback = true },
	{ .tool = "cargo", .words = ALLOWFROM_URLS, .counts = is_source },
	{ .tool = "go", .argv = { "go", "env", "GOPROXY", "GOSUMDB" }, .words = ALLOWFROM_HOSTS },
	{ .tool = "git",
	  .argv = { "git", "config", "--get-regexp", "^remote\\..*\\.(push)?url$" },
	  .words = ALLOWFROM_REMOTES,
	  .repository = true },
};

struct allowfrom {
	struct run_options *options;
	struct untouched *untouched;
	const char *cwd;
	struct addr_set own; /* this machine's addresses */
	const char *tool;
	size_t found; /* of @tool */
	char **v;
	size_t n;
};

bool allowfrom_check(const char *tool)
{
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		if (strcmp(questions[i].tool, tool) == 0)
			return true;
	}
	return false;
}

static const struct scheme {
	const char *name;
	uint16_t port;
} schemes[] = { { "https", 443 }, { "http", 80 }, { "ssh", 22 }, { "git", 9418 } };

static uint16_t port_of(const char *word, const char *end)
{
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t n = strlen(schemes[i].name);
		const char *p = end - n;

		/* "sparse+https://" and "git+ssh://" count by what is next to the colon */
		if ((size_t)(end - word) >= n && memcmp(p, schemes[i].name, n) == 0 &&
		    (p == word || p[-1] == '+'))
			return schemes[i].port;
	}
	return 0;
}

/* The host of @word, which has no blank; false if it names none. */
static bool parse_word(const char *word, enum allowfrom_words words, struct target *t)
{
	bool bare = words == ALLOWFROM_HOSTS;
	const char *sep = strstr(word, "://");
	const char *at, *host = sep ? sep + 3 : word;
	uint16_t port = sep ? port_of(word, sep) : bare ? 443 : 22;
	size_t n = strcspn(host, "/?#");
	bool scp = !sep && !bare;

	at = memrchr(host, '@', n);
	if (port == 0 || (scp && (!at || words != ALLOWFROM_REMOTES)))
		return false;
	if (at) {
		n -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	if (scp) { /* user@host:path */
		const char *colon = memchr(host, ':', n);

		if (!colon)
			return false;
		n = (size_t)(colon - host);
	}
	return (!bare || memchr(host, '.', n)) &&
	       target_parse_authority(host, n, port, t) == TARGET_OK;
}

void allowfrom_scan(const char *text, enum allowfrom_words words, allowfrom_cb *cb, void *arg)
{
	static const char blank[] = " \t\r\n,|'\"=[]";

	for (text += strspn(text, blank); *text; text += strspn(text, blank)) {
		size_t n = strcspn(text, blank);
		CLEANUP_FREE char *word = xstrndup(text, n);
		struct target t = { .via = VIA_CONNECT };

		if (parse_word(word, words, &t))
			cb(arg, &t);
		text += n;
	}
}

bool allowfrom_may(const struct target *t, const struct addr_set *own)
{
	if (!target_is_literal(t))
		return !hostname_is_local(&t->host) && !hostname_is_metadata(&t->host);
	return addr_classify(&t->addr) == ADDR_PUBLIC && !addr_set_contains(own, &t->addr);
}

static void tell_left_out(const struct allowfrom *a, const char *text)
{
	char word[SHELLWORD_MAX(TARGET_TEXT_MAX)];

	(void)fprintf(stderr,
		      "sbx-net: --allow-from %s: %s is left out: no address that is not a public "
		      "one is taken from a configuration; if it is wanted: --allow %s\n",
		      a->tool, text, shellword(word, sizeof(word), text));
}

static void add(void *arg, const struct target *t)
{
	struct allowfrom *a = arg;
	char text[TARGET_TEXT_MAX];

	a->found++;
	(void)target_format(t, text);
	if (!allowfrom_may(t, &a->own)) {
		tell_left_out(a, text);
		return;
	}
	for (size_t i = 0; i < a->n; i++) {
		if (strcmp(a->v[i], text) == 0)
			return;
	}
	a->v = xreallocarray(a->v, a->n + 1, sizeof(*a->v));
	a->v[a->n++] = xstrdup(text);
	options_add_rule(a->options, OPT_ALLOW, a->v[a->n - 1]);
	(void)fprintf(stderr, "sbx-net: --allow-from %s: %s\n", a->tool, text);
}

__attribute__((noreturn)) static void child(const struct hired *program, const char *const *words,
					    int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0 || setsid() < 0)
		_exit(127);
	hired_exec(program, words);
}

/* Reads until the end, but not for ever. Return: whether the end was reached. */
static bool read_answer(int fd, char *text)
{
	uint64_t end = clock_ms() + TOOL_MS;
	size_t n = 0;

	while (n < ANSWER_MAX) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = clock_ms();
		ssize_t got;

		if (now >= end || poll(&p, 1, (int)(end - now)) <= 0)
			return false;
		got = read(fd, text + n, ANSWER_MAX - n);
		if (got <= 0)
			return got == 0;
		n += (size_t)got;
	}
	return false;
}

static int run(const char *tool, const struct hired *program, const char *const *words, char *text,
	       struct error *err)
{
	int fds[2], status = 0;
	bool whole;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_set(err, errno, "cannot ask %s", tool);
	pid = fork();
	if (pid == 0)
		child(program, words, fds[1]);
	(void)close(fds[1]);
	whole = pid > 0 && read_answer(fds[0], text);
	(void)close(fds[0]);
	if (!whole && pid > 0)
		(void)kill(-pid, SIGKILL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!whole || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
		return error_set(err, 0, "--allow-from %s: '%s' gave no answer", tool,
				 program->path);
	return 0;
}

/* The program in its own words; git in the working directory, of which it is asked. */
static int ask(const struct allowfrom *a, const struct question *q, char *text, struct error *err)
{
	const char *words[ARRAY_SIZE(q->argv) + 3] = { NULL };
	struct hired program = { .path = NULL };
	size_t n = 0;
	int rc;

	if (hired_tool(a->untouched, q->argv[0], &program, err) < 0)
		return error_wrap(err, "--allow-from %s", q->tool);
	if (q->repository) {
		words[n++] = "-C";
		words[n++] = a->cwd;
	}
	for (size_t i = 1; i < ARRAY_SIZE(q->argv) && q->argv[i]; i++)
		words[n++] = q->argv[i];
	rc = run(q->tool, &program, words, text, err);
	hired_clear(&program);
	return rc;
}

static void scan(struct allowfrom *a, const struct question *q, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		CLEANUP_FREE char *line = xstrndup(text, n);

		if (!q->counts || q->counts(line))
			allowfrom_scan(line, q->words, add, a);
		text += n + (text[n] == '\n');
	}
}

static const char *value(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

/* No program prints what cargo is configured for. */
static void read_cargo(struct allowfrom *a, const struct question *q)
{
	static const char *const names[] = { "config.toml", "config" };
	char **env = hiredenv_new(a->untouched, true);
	const char *dir = value(env, "CARGO_HOME"), *home = value(env, "HOME");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP_FREE char *path =
			dir ? xasprintf("%s/%s", dir, names[i])
			    : xasprintf("%s/.cargo/%s", home ? home : "", names[i]);
		CLEANUP_CLOSE int fd = fd_open_regular(AT_FDCWD, path, 0, NULL);
		CLEANUP_FREE char *text = NULL;
		struct error why;
		size_t n;

		if (fd < 0)
			continue;
		if (untouched_look(a->untouched, path, &why) == UNTOUCHED)
			text = fd_read_file(fd, ANSWER_MAX, &n);
		else
			(void)fprintf(stderr, "sbx-net: --allow-from cargo: not read: %s: %s\n",
				      path, why.msg);
		if (text)
			scan(a, q, text);
	}
	for (size_t i = 0; env[i]; i++)
		free(env[i]);
	free(env);
}

static int ask_tool(struct allowfrom *a, struct error *err)
{
	a->found = 0;
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		const struct question *q = &questions[i];
		CLEANUP_FREE char *text = NULL;

		if (strcmp(q->tool, a->tool) != 0 || (q->fallback && a->found > 0))
			continue;
		if (!q->argv[0]) {
			read_cargo(a, q);
			continue;
		}
		text = xcalloc(1, ANSWER_MAX + 1);
		if (ask(a, q, text, err) < 0)
			return -1;
		scan(a, q, text);
	}
	if (a->found == 0)
		(void)fprintf(stderr, "sbx-net: --allow-from %s: its configuration names no host\n",
			      a->tool);
	return 0;
}

/* The settings are read once more for the policy, which gives the warnings. */
static struct untouched *find_untouched(const struct run_options *o, const char *cwd,
					struct error *err)
{
	enum log_level was = log_set_level(LOG_LEVEL_ERROR);
	struct layers *layers = layers_load(o, cwd, NULL, err);
	struct untouched *u = layers ? untouched_new(o, layers, cwd, err) : NULL;

	layers_free(layers);
	(void)log_set_level(was);
	return u;
}

static int ask_all(struct allowfrom *a, const struct run_options *o, struct error *err)
{
	if (o->allow_from.n == 0)
		return 0;
	if (ifaddrs_list(&a->own, err) < 0)
		return -1;
	a->untouched = find_untouched(o, a->cwd, err);
	if (!a->untouched)
		return -1;
	for (size_t i = 0; i < o->allow_from.n; i++) {
		a->tool = o->allow_from.v[i];
		if (ask_tool(a, err) < 0)
			return -1;
	}
	return 0;
}

struct allowfrom *allowfrom_new(struct run_options *o, const char *cwd, struct error *err)
{
	struct allowfrom *a = xcalloc(1, sizeof(*a));

	a->options = o;
	a->cwd = cwd;
	if (ask_all(a, o, err) < 0) {
		allowfrom_free(a);
		return NULL;
	}
	return a;
}

void allowfrom_free(struct allowfrom *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n; i++)
		free(a->v[i]);
	free(a->v);
	untouched_free(a->untouched);
	ifaddrs_clear(&a->own);
	free(a);
}
