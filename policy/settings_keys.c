#include "policy/settings_keys.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/xalloc.h"

#define SECTION(path)                                             \
	{                                                         \
		{ path, "section", true }, KIND_SECTION, 0, false \
	}
#define LIST(path, list, what)                               \
	{                                                    \
		{ path, what, true }, KIND_LIST, list, false \
	}
#define NAMED(path, list, what)                               \
	{                                                     \
		{ path, what, true }, KIND_NAMED, list, false \
	}
#define FLAG(path, flag, what)                               \
	{                                                    \
		{ path, what, true }, KIND_FLAG, flag, false \
	}
#define FOREIGN(path, why)                               \
	{                                                \
		{ path, why, false }, KIND_NONE, 0, true \
	}

static const struct settings_spec table[] = {
	{ { "$schema", "where the schema of this file is", true }, KIND_NONE, 0, false },
	SECTION("network"),
	LIST("network.allowedDomains", SETTINGS_ALLOWED_DOMAINS, "patterns of hosts to allow"),
	LIST("network.deniedDomains", SETTINGS_DENIED_DOMAINS,
	     "patterns of hosts to refuse, whatever allows them"),
	{ { "network.deniedDomainReasons", "object: a denied entry to the words of its refusal",
	    true },
	  KIND_REASONS,
	  0,
	  false },
	LIST("network.allowPrivate", SETTINGS_ALLOW_PRIVATE,
	     "names that may lead to private addresses"),
	LIST("network.allowLocal", SETTINGS_ALLOWED_DOMAINS,
	     "host:port on this machine's loopback to allow"),
	LIST("network.allowListFiles", SETTINGS_ALLOW_LISTS, "domain list files to allow"),
	LIST("network.denyListFiles", SETTINGS_DENY_LISTS, "domain list files to refuse"),
	LIST("network.resolvers", SETTINGS_RESOLVERS, "DNS servers instead of /etc/resolv.conf"),
	LIST("network.forwardRecordTypes", SETTINGS_FORWARD_TYPES,
	     "DNS record types to ask for outside for allowed names"),
	FLAG("network.strictAllowlist", SETTINGS_STRICT, "refuse unknown hosts without asking"),
	FLAG("network.allowManagedDomainsOnly", SETTINGS_MANAGED_DOMAINS_ONLY,
	     "managed file only: no other file or option may allow a host"),
	FLAG("network.allowAllUnixSockets", SETTINGS_ALL_UNIX_SOCKETS,
	     "AF_UNIX sockets are not refused"),
	LIST("network.allowUnixSockets", SETTINGS_UNIX_SOCKETS,
	     "paths of unix sockets; any entry opens every one, as the kernel cannot tell them "
	     "apart"),
	FLAG("network.allowLocalBinding", SETTINGS_LOCAL_BINDING,
	     "always so: the command's own loopback is private"),
	FLAG("network.capture", SETTINGS_CAPTURE, "false: proxy variables only"),
	{ { "network.onUnknownHost", "\"deny\" or \"ask\"; \"allow\" stops the start", true },
	  KIND_UNKNOWN_HOST,
	  0,
	  false },
	{ { "network.upstreamProxy", "http:// or socks5h:// URL, or \"none\"", true },
	  KIND_UPSTREAM,
	  0,
	  false },
	{ { "network.sniCheck",
	    "\"strict\", \"name\" (default) or \"off\": what TLS on port 443 says", true },
	  KIND_SNI_CHECK,
	  0,
	  false },
	{ { "network.learned", "object: when and for whom --learn saw an entry; not looked at",
	    true },
	  KIND_NONE,
	  0,
	  false },
	SECTION("filesystem"),
	LIST("filesystem.allowRead", SETTINGS_ALLOW_READ, "paths that may be read"),
	LIST("filesystem.allowWrite", SETTINGS_ALLOW_WRITE, "paths that may be written"),
	LIST("filesystem.allowExec", SETTINGS_ALLOW_EXEC,
	     "paths that may be executed (--fs strict)"),
	LIST("filesystem.denyRead", SETTINGS_DENY_READ, "paths hidden from reads"),
	LIST("filesystem.denyWrite", SETTINGS_DENY_WRITE, "paths that stay unwritable"),
	FLAG("filesystem.disabled", SETTINGS_FS_DISABLED, "no confinement of files"),
	FLAG("filesystem.allowManagedReadPathsOnly", SETTINGS_MANAGED_READ_ONLY,
	     "managed file only: no other file may open a denied path again"),
	SECTION("credentials"),
	NAMED("credentials.envVars", SETTINGS_ENV_DROP, "variables kept from the command"),
	NAMED("credentials.files", SETTINGS_DENY_READ, "files hidden from reads"),
	SECTION("environment"),
	LIST("environment.pass", SETTINGS_ENV_PASS, "variables to pass, as --env"),

	/* What other programs' files have: no effect here, and said so. */
	{ { "enabled", "true; false stops the start: this file asks for no sandbox", true },
	  KIND_ENABLED,
	  0,
	  true },
	FOREIGN("failIfUnavailable", "always so here: what cannot be enforced does not run"),
	FOREIGN("autoAllowBashIfSandboxed", "about approvals, not about the sandbox"),
	FOREIGN("autoAllow", "about approvals, not about the sandbox"),
	{ { "allowUnsandboxedCommands",
	    "false in the managed file: a project only tightens; no command leaves the sandbox",
	    true },
	  KIND_FLAG,
	  SETTINGS_UNSANDBOXED,
	  true },
	FOREIGN("excludedCommands", "every command runs inside"),
	FOREIGN("ignoreViolations", "every refusal is reported"),
	FOREIGN("enableWeakerNestedSandbox", "weaker modes exist only by their own option"),
	FOREIGN("enableWeakerNetworkIsolation", "weaker modes exist only by their own option"),
	FOREIGN("allowAppleEvents", "another operating system's"),
	FOREIGN("allowNestedUserNamespaces", "never allowed here"),
	FOREIGN("mandatoryDenySearchDepth", "protected paths need no search here"),
	FOREIGN("allowPty", "a terminal always works here"),
	FOREIGN("ripgrep", "no helper program is used"),
	FOREIGN("bwrapPath", "no helper program is used"),
	FOREIGN("socatPath", "no helper program is used"),
	FOREIGN("seccomp", "the filter is built in"),
	FOREIGN("network.httpProxyPort", "the proxy is built in"),
	FOREIGN("network.socksProxyPort", "the proxy is built in"),
	FOREIGN("network.mitmProxy", "not supported"),
	FOREIGN("network.parentProxy", "use network.upstreamProxy"),
	FOREIGN("network.tlsTerminate", "not supported yet"),
	FOREIGN("network.allowMachLookup", "another operating system's"),
	FOREIGN("filesystem.allowGitConfig", "git's configuration stays protected"),
};

const struct settings_spec *settings_spec_find(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (strcmp(table[i].key.path, path) == 0)
			return &table[i];
	}
	return NULL;
}

/* The last part of a dotted path. */
static const char *leaf(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

const char *settings_spec_nearest(const char *path)
{
	const char *words[ARRAY_SIZE(table)];
	size_t i;

	if (strcmp(path, "env") == 0) /* another program's word for it */
		return "environment.pass";
	/* A key in the wrong section is nearest to its namesake. */
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		if (strcmp(leaf(table[i].key.path), leaf(path)) == 0)
			return table[i].key.path;
	}
	for (i = 0; i < ARRAY_SIZE(table); i++)
		words[i] = leaf(table[i].key.path);
	i = nearest_word(leaf(path), words, ARRAY_SIZE(table));
	return i < ARRAY_SIZE(table) ? table[i].key.path : NULL;
}

size_t settings_keys(const struct settings_key **out)
{
	static struct settings_key keys[ARRAY_SIZE(table)];

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		keys[i] = table[i].key;
	*out = keys;
	return ARRAY_SIZE(table);
}
