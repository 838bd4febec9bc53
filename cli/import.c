/*
 * import.c - `sbx-net import claude|srt|codex FILE`: another program's policy as our settings file
 *
 * The file is read by the parser that reads it as a policy, every entry is tried, and what is
 * printed is read once more: what cannot be taken over exactly stops the import.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "cli/commands.h"
#include "launcher/launcher.h"
#include "policy/codex.h"
#include "policy/policy.h"
#include "policy/settings.h"

static const struct {
	const char *section, *key;
	enum settings_list_id id;
} lists[] = {
	{ "network", "allowedDomains", SETTINGS_ALLOWED_DOMAINS },
	{ "network", "deniedDomains", SETTINGS_DENIED_DOMAINS },
	{ "network", "allowPrivate", SETTINGS_ALLOW_PRIVATE },
	{ "network", "allowListFiles", SETTINGS_ALLOW_LISTS },
	{ "network", "denyListFiles", SETTINGS_DENY_LISTS },
	{ "network", "resolvers", SETTINGS_RESOLVERS },
	{ "network", "forwardRecordTypes", SETTINGS_FORWARD_TYPES },
	{ "network", "allowUnixSockets", SETTINGS_UNIX_SOCKETS },
	{ "filesystem", "allowRead", SETTINGS_ALLOW_READ },
	{ "filesystem", "allowWrite", SETTINGS_ALLOW_WRITE },
	{ "filesystem", "allowExec", SETTINGS_ALLOW_EXEC },
	{ "filesystem", "denyRead", SETTINGS_DENY_READ },
	{ "filesystem", "denyWrite", SETTINGS_DENY_WRITE },
	{ "credentials", "envVars", SETTINGS_ENV_DROP },
	{ "environment", "pass", SETTINGS_ENV_PASS },
};

static const struct {
	const char *section, *key;
	enum settings_flag_id id;
} flags[] = {
	{ "network", "strictAllowlist", SETTINGS_STRICT },
	{ "network", "allowManagedDomainsOnly", SETTINGS_MANAGED_DOMAINS_ONLY },
	{ "network", "allowAllUnixSockets", SETTINGS_ALL_UNIX_SOCKETS },
	{ "network", "allowLocalBinding", SETTINGS_LOCAL_BINDING },
	{ "network", "capture", SETTINGS_CAPTURE },
	{ "filesystem", "disabled", SETTINGS_FS_DISABLED },
	{ "filesystem", "allowManagedReadPathsOnly", SETTINGS_MANAGED_READ_ONLY },
};

static const char *const sections[] = { "network", "filesystem", "credentials", "environment" };

/* Controls are escaped, those of C1 too: it may be a terminal that this goes to. */
static void put_string(FILE *out, const char *s)
{
	(void)fputc('"', out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		bool c1 = c == 0xc2 && ((unsigned char)s[1] & 0xe0) == 0x80; /* U+0080 to U+009F */

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f || c1)
			fprintf(out, "\\u%04x", c1 ? (unsigned char)*++s : c);
		else
			(void)fputc(c, out);
	}
	(void)fputc('"', out);
}

/* A member of a section: comma, line, key. @first is cleared. */
static void put_key(FILE *out, const char *key, bool *first)
{
	fprintf(out, "%s\n    \"%s\": ", *first ? "" : ",", key);
	*first = false;
}

static bool put_lists(FILE *out, const struct settings *s, const char *section, bool first)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct settings_list *l = &s->list[lists[i].id];

		if (!l->n || strcmp(lists[i].section, section) != 0)
			continue;
		put_key(out, lists[i].key, &first);
		for (size_t k = 0; k < l->n; k++) {
			(void)fputs(k ? ",\n      " : "[\n      ", out);
			put_string(out, l->v[k].text);
		}
		(void)fputs("\n    ]", out);
	}
	return first;
}

static bool put_reasons(FILE *out, const struct settings *s, bool first)
{
	const struct settings_list *l = &s->list[SETTINGS_DENIED_DOMAINS];
	bool any = false;

	for (size_t i = 0; i < l->n; i++) {
		if (!l->v[i].reason)
			continue;
		if (!any)
			put_key(out, "deniedDomainReasons", &first);
		(void)fputs(any ? ",\n      " : "{\n      ", out);
		put_string(out, l->v[i].text);
		(void)fputs(": ", out);
		put_string(out, l->v[i].reason);
		any = true;
	}
	if (any)
		(void)fputs("\n    }", out);
	return first;
}

static bool put_flags(FILE *out, const struct settings *s, const char *section, bool first)
{
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (s->flag[flags[i].id] == SETTINGS_UNSET ||
		    strcmp(flags[i].section, section) != 0)
			continue;
		put_key(out, flags[i].key, &first);
		(void)fputs(s->flag[flags[i].id] == SETTINGS_YES ? "true" : "false", out);
	}
	return first;
}

static bool has_section(const struct settings *s, const char *section)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (s->list[lists[i].id].n && strcmp(lists[i].section, section) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (s->flag[flags[i].id] != SETTINGS_UNSET &&
		    strcmp(flags[i].section, section) == 0)
			return true;
	}
	return strcmp(section, "network") == 0;
}

static void put_settings(FILE *out, const struct settings *s)
{
	(void)fputc('{', out);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		bool network = strcmp(sections[i], "network") == 0, first = true;

		if (!has_section(s, sections[i]))
			continue;
		fprintf(out, "%s\n  \"%s\": {", network ? "" : ",", sections[i]);
		first = put_lists(out, s, sections[i], first);
		if (network)
			first = put_reasons(out, s, first);
		first = put_flags(out, s, sections[i], first);
		if (network && s->upstream) {
			put_key(out, "upstreamProxy", &first);
			put_string(out, s->upstream);
		}
		(void)fputs("\n  }", out);
	}
	(void)fputs("\n}\n", out);
}

static void on_warning(void *arg, const char *file, unsigned line, const char *text)
{
	(void)arg;
	if (line)
		log_warn("%s:%u: %s", file, line, text);
	else
		log_warn("%s: %s", file, text);
}

/* Every pattern must be one of ours. */
static int try_patterns(const struct settings *s, struct error *err)
{
	static const enum settings_list_id from[] = { SETTINGS_ALLOWED_DOMAINS,
						      SETTINGS_DENIED_DOMAINS,
						      SETTINGS_ALLOW_PRIVATE };
	static const enum list to[] = { LIST_ALLOW, LIST_DENY, LIST_PRIVATE };
	struct policy *p = policy_new();
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(from); i++) {
		const struct settings_list *l = &s->list[from[i]];

		for (size_t k = 0; rc == 0 && k < l->n; k++) {
			rc = policy_add(p, to[i], l->v[k].text, s->file, l->v[k].line, NULL, err);
			if (rc < 0)
				(void)error_wrap(err, "%s:%u", s->file, l->v[k].line);
		}
	}
	policy_free(p);
	return rc;
}

/* The same lists, entry by entry, and the same switches. */
static bool is_same(const struct settings *a, const struct settings *b)
{
	for (size_t i = 0; i < SETTINGS_NUM_LISTS; i++) {
		if (a->list[i].n != b->list[i].n)
			return false;
		for (size_t k = 0; k < a->list[i].n; k++) {
			if (strcmp(a->list[i].v[k].text, b->list[i].v[k].text) != 0)
				return false;
		}
	}
	for (size_t i = 0; i < SETTINGS_NUM_FLAGS; i++) {
		/* ours have no word for it: no command leaves the sandbox */
		if (a->flag[i] != b->flag[i] && i != SETTINGS_UNSANDBOXED)
			return false;
	}
	return true;
}

static int print(const struct settings *s, struct error *err)
{
	CLEANUP_FREE char *text = NULL;
	struct settings *again;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool same;

	if (!out)
		die("out of memory");
	put_settings(out, s);
	if (fclose(out) != 0)
		die("out of memory");
	again = settings_parse(text, len, "(what would be printed)", on_warning, NULL, err);
	if (!again)
		return -1;
	same = is_same(s, again);
	settings_free(again);
	if (!same)
		return error_set(err, 0, "%s: cannot be said in a settings file of ours", s->file);
	if (fwrite(text, 1, len, stdout) != len || fflush(stdout) != 0)
		return error_set(err, errno, "cannot write");
	return 0;
}

/* TOML for JSON and the reverse; the parsers' own messages speak of keys and brackets. */
static int looks_wrong(const char *kind, const char *path, const char *text, struct error *err)
{
	bool codex = strcmp(kind, "codex") == 0;
	const char *dot = strrchr(path, '.');
	bool json = text[strspn(text, " \t\r\n")] == '{';

	if (codex && json)
		return error_set(err, 0,
				 "%s: looks like JSON, and a Codex config.toml is TOML; is it a "
				 "file for 'import claude' or 'import srt'?",
				 path);
	if (!codex && !json && dot && strcmp(dot, ".toml") == 0)
		return error_set(err, 0,
				 "%s: looks like TOML, and a file of '%s' is JSON; is it a file "
				 "for 'import codex'?",
				 path, kind);
	return 0;
}

static struct settings *read_as(const char *kind, const char *path, struct error *err)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE char *text = NULL;
	struct settings *s;
	size_t len = 0;

	if (fd >= 0)
		text = fd_read_file(fd, SETTINGS_FILE_MAX, &len);
	if (!text) {
		(void)error_set(err, errno, "cannot read '%s'", path);
		return NULL;
	}
	if (looks_wrong(kind, path, text, err) < 0)
		return NULL;
	if (strcmp(kind, "codex") == 0)
		return codex_parse(text, len, path, on_warning, NULL, err);
	s = settings_parse_as(text, len, path,
			      strcmp(kind, "claude") == 0 ? SETTINGS_CLAUDE : SETTINGS_SRT,
			      on_warning, NULL, err);
	return s;
}

/* Whether what was printed says nothing at all. */
static bool is_empty(const struct settings *s)
{
	for (size_t i = 0; i < SETTINGS_NUM_LISTS; i++) {
		if (s->list[i].n)
			return false;
	}
	for (size_t i = 0; i < SETTINGS_NUM_FLAGS; i++) {
		if (s->flag[i] != SETTINGS_UNSET && i != SETTINGS_UNSANDBOXED)
			return false;
	}
	return !s->upstream;
}

static int usage(void)
{
	fprintf(stderr, "sbx-net: usage: sbx-net import claude|srt|codex FILE\n");
	return OPTIONS_EXIT_USAGE;
}

int import_main(int argc, char **argv)
{
	struct settings *s;
	unsigned line = 0;
	struct error err;
	int rc = -1;

	if (argc != 3 || (strcmp(argv[1], "claude") != 0 && strcmp(argv[1], "srt") != 0 &&
			  strcmp(argv[1], "codex") != 0))
		return usage();
	s = read_as(argv[1], argv[2], &err);
	if (s && try_patterns(s, &err) == 0)
		rc = print(s, &err);
	if (rc < 0)
		fprintf(stderr, "sbx-net: %s\n", err.msg);
	else if (settings_socket_note(s, &line))
		log_warn("%s:%u: %s", s->file, line, settings_socket_note(s, &line));
	else if (is_empty(s))
		log_warn("%s: nothing in it could be taken over: the policy is empty, and allows "
			 "no host",
			 s->file);
	settings_free(s);
	return rc < 0 ? LAUNCHER_EXIT_SETUP : 0;
}
