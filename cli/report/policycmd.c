/*
 * policycmd.c - `sbx-net policy diff A B`: what one settings file says and another does not
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "cli/commands.h"
#include "launcher/launcher.h"
#include "policy/settings.h"

#define EXIT_DIFFERENT 1
#define SHOWN	       1024 /* of an entry */

static const char *const list_name[] = {
	[SETTINGS_ALLOWED_DOMAINS] = "network.allowedDomains",
	[SETTINGS_DENIED_DOMAINS] = "network.deniedDomains",
	[SETTINGS_ALLOW_PRIVATE] = "network.allowPrivate",
	[SETTINGS_ALLOW_LISTS] = "network.allowListFiles",
	[SETTINGS_DENY_LISTS] = "network.denyListFiles",
	[SETTINGS_RESOLVERS] = "network.resolvers",
	[SETTINGS_FORWARD_TYPES] = "network.forwardRecordTypes",
	[SETTINGS_ALLOW_READ] = "filesystem.allowRead",
	[SETTINGS_ALLOW_WRITE] = "filesystem.allowWrite",
	[SETTINGS_ALLOW_EXEC] = "filesystem.allowExec",
	[SETTINGS_DENY_READ] = "filesystem.denyRead",
	[SETTINGS_DENY_WRITE] = "filesystem.denyWrite",
	[SETTINGS_ENV_PASS] = "environment.pass",
	[SETTINGS_ENV_DROP] = "credentials.envVars",
	[SETTINGS_UNIX_SOCKETS] = "network.allowUnixSockets",
};
static_assert(ARRAY_SIZE(list_name) == SETTINGS_NUM_LISTS, "each list has a name");

static const char *const flag_name[] = {
	[SETTINGS_STRICT] = "network.strictAllowlist",
	[SETTINGS_MANAGED_DOMAINS_ONLY] = "network.allowManagedDomainsOnly",
	[SETTINGS_MANAGED_READ_ONLY] = "filesystem.allowManagedReadPathsOnly",
	[SETTINGS_FS_DISABLED] = "filesystem.disabled",
	[SETTINGS_ALL_UNIX_SOCKETS] = "network.allowAllUnixSockets",
	[SETTINGS_LOCAL_BINDING] = "network.allowLocalBinding",
	[SETTINGS_CAPTURE] = "network.capture",
	[SETTINGS_UNSANDBOXED] = "allowUnsandboxedCommands",
};
static_assert(ARRAY_SIZE(flag_name) == SETTINGS_NUM_FLAGS, "each switch has a name");

static const char *const set_name[] = {
	[SETTINGS_UNSET] = "unset", [SETTINGS_NO] = "false", [SETTINGS_YES] = "true"
};
static const char *const verdict_name[] = {
	[VERDICT_DENY] = "deny", [VERDICT_ALLOW] = "allow", [VERDICT_ASK] = "ask"
};
static const char *const sni_name[] = {
	[SNI_OFF] = "off", [SNI_NAME] = "name", [SNI_STRICT] = "strict"
};

static void warn(void *arg, const char *file, unsigned line, const char *text)
{
	(void)arg, (void)file, (void)line, (void)text; /* `check` is for that */
}

static struct settings *load(const char *path, struct error *err)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE char *text = NULL;
	size_t len;

	if (fd >= 0)
		text = fd_read_file(fd, SETTINGS_FILE_MAX, &len);
	if (!text) {
		(void)error_set(err, errno, "cannot read '%s'", path);
		return NULL;
	}
	return settings_parse(text, len, path, warn, NULL, err);
}

static bool has(const struct settings_list *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->v[i].text, text) == 0)
			return true;
	}
	return false;
}

/* The entries of @in that @from does not have. Return: how many. */
static size_t missing(const struct settings_list *in, const struct settings_list *from, char sign,
		      const char *name)
{
	char shown[SHOWN];
	size_t n = 0;

	for (size_t i = 0; i < in->n; i++) {
		const char *text = in->v[i].text;

		if (has(from, text))
			continue;
		n++;
		printf("%c %s %s\n", sign, name,
		       log_escape(shown, sizeof(shown), text, strlen(text)));
	}
	return n;
}

static void print_change(const char *name, const char *a, const char *b)
{
	char x[SHOWN], y[SHOWN];

	printf("~ %s %s -> %s\n", name, log_escape(x, sizeof(x), a, strlen(a)),
	       log_escape(y, sizeof(y), b, strlen(b)));
}

static size_t changed(const char *name, const char *a, const char *b)
{
	if (strcmp(a, b) == 0)
		return 0;
	print_change(name, a, b);
	return 1;
}

/* What is compared may end in a log: its user name and password are not shown. */
static const char *without_password(const char *url, char out[SHOWN])
{
	const char *host = strstr(url, "://"), *at;

	host = host ? host + strlen("://") : url;
	at = strrchr(host, '@');
	(void)snprintf(out, SHOWN, "%.*s%s%s", (int)(host - url), url, at ? "..." : "",
		       at ? at : host);
	return out;
}

static size_t changed_upstream(const char *a, const char *b)
{
	char x[SHOWN], y[SHOWN];

	a = a ? a : "unset";
	b = b ? b : "unset";
	if (strcmp(a, b) == 0)
		return 0;
	print_change("network.upstreamProxy", without_password(a, x), without_password(b, y));
	return 1;
}

static size_t compare(const struct settings *a, const struct settings *b)
{
	size_t n = 0;

	for (int i = 0; i < SETTINGS_NUM_LISTS; i++) {
		n += missing(&a->list[i], &b->list[i], '-', list_name[i]);
		n += missing(&b->list[i], &a->list[i], '+', list_name[i]);
	}
	for (int i = 0; i < SETTINGS_NUM_FLAGS; i++)
		n += changed(flag_name[i], set_name[a->flag[i]], set_name[b->flag[i]]);
	n += changed("network.onUnknownHost", a->has_unknown ? verdict_name[a->unknown] : "unset",
		     b->has_unknown ? verdict_name[b->unknown] : "unset");
	n += changed_upstream(a->upstream, b->upstream);
	n += changed("network.sniCheck", a->has_sni_check ? sni_name[a->sni_check] : "unset",
		     b->has_sni_check ? sni_name[b->sni_check] : "unset");
	return n;
}

static int diff(const char *first, const char *second)
{
	struct error err;
	struct settings *a = load(first, &err);
	struct settings *b = a ? load(second, &err) : NULL;
	int status = LAUNCHER_EXIT_SETUP;

	if (b)
		status = compare(a, b) ? EXIT_DIFFERENT : 0;
	else
		fprintf(stderr, "sbx-net: %s\n", err.msg);
	settings_free(a);
	settings_free(b);
	return fflush(stdout) == 0 ? status : LAUNCHER_EXIT_SETUP;
}

int policy_main(int argc, char **argv)
{
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		command_help(stdout, command_find("policy"));
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "diff") == 0)
		return diff(argv[2], argv[3]);
	fprintf(stderr, "sbx-net: usage: sbx-net policy diff FILE FILE\n");
	return OPTIONS_EXIT_USAGE;
}
