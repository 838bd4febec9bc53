/*
 * childenv.c - the command's environment
 *
 * Should: pass what programs need to find themselves, their user and their terminal, and lead
 * every tool to the proxy. Mustn't: hand over a credential that nobody named, a variable that
 * makes an interpreter run code, or a socket of the caller's session.
 *
 * A name that the caller gave (--env) is looked at in this order: a proxy variable is ours; named
 * exactly, it passes whatever it is; by pattern, it passes unless it looks like a credential or
 * is one of the loader's.
 */
#include "launcher/childenv.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "launcher/envnames.h"

/** struct env - the array under construction */
struct env {
	char **v;
	size_t n;
};

static size_t name_length(const char *entry)
{
	return strcspn(entry, "=");
}

static bool has(const struct env *e, const char *name, size_t len)
{
	for (size_t i = 0; i < e->n; i++)
		if (name_length(e->v[i]) == len && memcmp(e->v[i], name, len) == 0)
			return true;
	return false;
}

/* Takes @entry. The first of two equal names stays, as getenv(3) finds it. */
static void add(struct env *e, char *entry)
{
	if (has(e, entry, name_length(entry))) {
		free(entry);
		return;
	}
	e->v = xreallocarray(e->v, e->n + 2, sizeof(*e->v));
	e->v[e->n++] = entry;
	e->v[e->n] = NULL;
}

static bool is_exported_function(const char *value)
{
	return strncmp(value, "() {", 4) == 0;
}

static bool may_pass_by_pattern(const char *entry, size_t len)
{
	return !envnames_is_exact_only(entry, len) && !envnames_looks_secret(entry, len) &&
	       !envnames_value_looks_secret(entry + len + 1);
}

/* Copies from the caller every variable that @pattern names. */
static void pass(struct env *e, char *const *parent, const char *pattern)
{
	bool exact = strchr(pattern, '*') == NULL;

	for (; *parent; parent++) {
		size_t len = name_length(*parent);

		if ((*parent)[len] != '=' || !envnames_is_name(*parent, len) ||
		    !envnames_match(pattern, *parent, len) || envnames_is_ours(*parent, len) ||
		    is_exported_function(*parent + len + 1))
			continue;
		if (exact || may_pass_by_pattern(*parent, len))
			add(e, xstrdup(*parent));
	}
}

static bool is_writable(const struct childenv_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->nwritable; i++) {
		const char *dir = plan->writable[i];
		size_t n = strlen(dir);

		while (n > 1 && dir[n - 1] == '/')
			n--;
		CLEANUP_FREE char *root = xstrndup(dir, n);

		if (path_beneath(path, root))
			return true;
	}
	return false;
}

/* Not passed where it would lead to a place that cannot be written; --env comes before. */
static bool is_dead_cache(const struct childenv_plan *plan, const char *entry, size_t len)
{
	static const char *const name[] = { "XDG_CACHE_HOME", "GOCACHE", "GOMODCACHE" };

	if (!plan->tmpdir || !plan->writable || entry[len] != '=')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(name); i++)
		if (strlen(name[i]) == len && memcmp(name[i], entry, len) == 0)
			return !is_writable(plan, entry + len + 1);
	return false;
}

/* Built-in names pass like exact ones, but not with a value that looks like a credential. */
static void pass_allowed(struct env *e, const struct childenv_plan *plan)
{
	for (char *const *parent = plan->parent; *parent; parent++) {
		size_t len = name_length(*parent);

		if ((*parent)[len] == '=' && envnames_is_name(*parent, len) &&
		    envnames_is_allowed(*parent, len) && !is_exported_function(*parent + len + 1) &&
		    !envnames_looks_secret(*parent, len) &&
		    !envnames_value_looks_secret(*parent + len + 1) &&
		    !is_dead_cache(plan, *parent, len))
			add(e, xstrdup(*parent));
	}
}

static void pass_all(struct env *e, char *const *parent)
{
	for (; *parent; parent++) {
		size_t len = name_length(*parent);

		if (!envnames_is_ours(*parent, len))
			add(e, xstrdup(*parent));
	}
}

static int check_wanted(const char *wanted, struct error *err)
{
	size_t len = name_length(wanted);
	bool pattern = wanted[len] == '\0' && len > 1 && wanted[len - 1] == '*';

	if (!envnames_is_name(wanted, pattern ? len - 1 : len))
		return error_set(
			err, 0,
			"--env %s: expected NAME, NAME=VALUE or a pattern such as 'CARGO_*'",
			wanted);
	if (wanted[len] == '=' && envnames_is_ours(wanted, len))
		return error_set(err, 0, "--env %.*s: this variable is set by sbx-net itself",
				 (int)len, wanted);
	return 0;
}

static int add_wanted(struct env *e, const struct childenv_plan *plan, struct error *err)
{
	for (size_t i = 0; i < plan->nwanted; i++)
		if (check_wanted(plan->wanted[i], err) < 0)
			return -1;
	/* The last of two values for one name wins: options override what stands before them. */
	for (size_t i = plan->nwanted; i-- > 0;)
		if (strchr(plan->wanted[i], '='))
			add(e, xstrdup(plan->wanted[i]));
	for (size_t i = 0; i < plan->nwanted; i++)
		if (!strchr(plan->wanted[i], '='))
			pass(e, plan->parent, plan->wanted[i]);
	return 0;
}

static void add_proxies(struct env *e, uint16_t port)
{
	static const char *const names[] = { "HTTP_PROXY",  "http_proxy", "HTTPS_PROXY",
					     "https_proxy", "ALL_PROXY",  "all_proxy" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add(e, xasprintf("%s=http://127.0.0.1:%u", names[i], port));
	add(e, xstrdup("NO_PROXY=localhost,127.0.0.1,::1"));
	add(e, xstrdup("no_proxy=localhost,127.0.0.1,::1"));
	add(e, xstrdup("SBX_NET=1"));
}

/* The JVM knows no proxy variables. What the caller named exactly is put behind ours. */
static void add_java(struct env *e, uint16_t port)
{
	CLEANUP_FREE char *own =
		xasprintf("JAVA_TOOL_OPTIONS=-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=%u "
			  "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=%u "
			  "-Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]",
			  port, port);
	size_t len = name_length(own);

	for (size_t i = 0; i < e->n; i++) {
		char *was = e->v[i];

		if (name_length(was) != len || memcmp(was, own, len) != 0)
			continue;
		e->v[i] = xasprintf("%s %s", own, was + len + 1);
		free(was);
		return;
	}
	add(e, take_ptr(own));
}

static bool is_plain_path(const char *path)
{
	return path && path[0] == '/' &&
	       path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				 "/._-+")] == '\0';
}

/*
 * ssh knows no proxy variables either; captured connections need none. The value goes through two
 * shells, so a path with anything unusual in it is left to be found in PATH.
 */
static void add_ssh(struct env *e, const char *self)
{
	add(e, xasprintf("GIT_SSH_COMMAND=ssh -o 'ProxyCommand=%s connect %%h %%p'",
			 is_plain_path(self) ? self : "sbx-net"));
}

/*
 * git writes what a new branch follows into its configuration, and after it has switched the files: when
 * that fails, HEAD stays at the old branch with the files of the new one, and the next commit puts
 * them there.
 */
static void add_git(struct env *e)
{
	if (has(e, "GIT_CONFIG_COUNT", strlen("GIT_CONFIG_COUNT")))
		return;
	add(e, xstrdup("GIT_CONFIG_COUNT=1"));
	add(e, xstrdup("GIT_CONFIG_KEY_0=branch.autoSetupMerge"));
	add(e, xstrdup("GIT_CONFIG_VALUE_0=false"));
}

static const char *value_of(const struct env *e, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < e->n; i++)
		if (name_length(e->v[i]) == len && memcmp(e->v[i], name, len) == 0)
			return e->v[i] + len + 1;
	return NULL;
}

/* A default place below the home directory, where it may be written; else below TMPDIR. */
static void lead_cache(struct env *e, const struct childenv_plan *plan, const char *name,
		       const char *usual, const char *instead)
{
	const char *home = value_of(e, "HOME");
	CLEANUP_FREE char *path = home ? xasprintf("%s/%s", home, usual) : NULL;

	const char *gopath = value_of(e, "GOPATH"); /* moves where modules are kept by default */

	if (strcmp(name, "GOMODCACHE") == 0 && gopath && is_writable(plan, gopath))
		return;
	if (!path || !is_writable(plan, path))
		add(e, xasprintf("%s=%s/cache%s", name, plan->tmpdir, instead));
}

/*
 * What fails where its cache cannot be written: npm and Go (modules, and XDG_CACHE_HOME for the
 * builds). pip, yarn and ccache look at XDG_CACHE_HOME too. Cargo's home holds settings beside the
 * cache, so it stays. A place that the caller's own variable names counts if it may be written.
 */
static void add_caches(struct env *e, const struct childenv_plan *plan)
{
	static const struct {
		const char *name, *usual, *instead;
	} cache[] = {
		{ "XDG_CACHE_HOME", ".cache", "" },
		{ "npm_config_cache", ".npm", "/npm" },
		{ "GOMODCACHE", "go/pkg/mod", "/go-mod" },
	};

	if (!plan->tmpdir || !plan->writable)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(cache); i++)
		lead_cache(e, plan, cache[i].name, cache[i].usual, cache[i].instead);
}

static bool is_dropped(const struct childenv_plan *plan, const char *name, size_t len)
{
	for (size_t i = 0; i < plan->ndrop; i++)
		if (envnames_match(plan->drop[i], name, len))
			return true;
	return false;
}

/* What the settings keep from the command, after everything else: it wins. */
static void drop_listed(struct env *e, const struct childenv_plan *plan)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->n; i++) {
		if (is_dropped(plan, e->v[i], name_length(e->v[i])))
			free(e->v[i]);
		else
			e->v[kept++] = e->v[i];
	}
	e->n = kept;
	e->v[kept] = NULL;
}

char **childenv_build(const struct childenv_plan *plan, struct error *err)
{
	struct env e = { .v = xcalloc(1, sizeof(*e.v)) };

	add_proxies(&e, plan->proxy_port);
	if (add_wanted(&e, plan, err) < 0) {
		childenv_free(e.v);
		return NULL;
	}
	if (plan->keep)
		pass_all(&e, plan->parent);
	else
		pass_allowed(&e, plan);
	add_java(&e, plan->proxy_port);
	add(&e, xstrdup("NODE_USE_ENV_PROXY=1")); /* fetch() of Node 24 and later */
	if (plan->tmpdir)
		add(&e, xasprintf("TMPDIR=%s", plan->tmpdir));
	add_caches(&e, plan);
	if (!plan->capture)
		add_ssh(&e, plan->self);
	if (plan->git_locked)
		add_git(&e);
	drop_listed(&e, plan);
	return e.v;
}

static size_t count(char *const *env)
{
	size_t n = 0;

	while (env[n])
		n++;
	return n;
}

void childenv_free(char **env)
{
	for (size_t i = 0; env && env[i]; i++)
		free(env[i]);
	free(env);
}

/* What a shell keeps for itself, and every shell sets anew. */
static bool is_shells_own(const char *name, size_t len)
{
	static const char *const own[] = { "_", "PWD", "OLDPWD", "SHLVL" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (envnames_match(own[i], name, len))
			return true;
	return false;
}

char *childenv_left_out(char *const *parent, char **env)
{
	const struct env e = { .v = env, .n = count(env) };
	char *names = NULL;

	for (; *parent; parent++) {
		size_t len = name_length(*parent);

		if (!envnames_is_name(*parent, len) || envnames_is_ours(*parent, len) ||
		    is_shells_own(*parent, len) || has(&e, *parent, len))
			continue;
		char *more = xasprintf("%s%s%.*s", names ? names : "", names ? " " : "", (int)len,
				       *parent);

		free(names);
		names = more;
	}
	return names;
}
