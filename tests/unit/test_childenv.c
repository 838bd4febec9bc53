/*
 * test_childenv.c - L-001, L-002: what the command finds in its environment
 */
#include "launcher/childenv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static const char *const no_env[] = { NULL };

static const char *get(char **env, const char *name)
{
	size_t n = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

static size_t count(char **env, const char *name)
{
	size_t n = strlen(name), found = 0;

	for (; *env; env++)
		found += strncmp(*env, name, n) == 0 && (*env)[n] == '=';
	return found;
}

/* Nothing is written to the strings of an environment. */
static char *const *mutable(const char *const *list)
{
	return (char *const *)(uintptr_t)list;
}

static char **build(const char *const *parent, const char *const *wanted, size_t nwanted)
{
	struct childenv_plan plan = {
		.parent = mutable(parent),
		.wanted = wanted,
		.nwanted = nwanted,
		.tmpdir = "/tmp/private",
		.proxy_port = 3128,
		.capture = true,
	};
	struct error err;
	char **env = childenv_build(&plan, &err);

	if (!env)
		fail_msg("%s", err.msg);
	return env;
}

static char **build_with(const char *const *parent, const char *const *wanted, size_t nwanted,
			 const char *const *writable, size_t nwritable)
{
	struct childenv_plan plan = {
		.parent = mutable(parent),
		.wanted = wanted,
		.nwanted = nwanted,
		.writable = writable,
		.nwritable = nwritable,
		.tmpdir = "/tmp",
		.proxy_port = 3128,
		.capture = true,
	};
	struct error err;
	char **env = childenv_build(&plan, &err);

	assert_non_null(env);
	return env;
}

/* Package managers fail where their cache cannot be written. */
static void test_build_leads_caches_to_where_they_can_be_written(void **state)
{
	static const char *const parent[] = { "HOME=/home/u", "GOCACHE=/home/u/gocache", NULL };
	static const char *const moved[] = { "HOME=/home/u", "XDG_CACHE_HOME=/srv/w/c",
					     "GOPATH=/srv/w/go", "GOCACHE=/srv/w/gocache", NULL };
	static const char *const work[] = { "/tmp", "/srv/w/" };
	static const char *const granted[] = { "/tmp", "/home/u/.npm", "/home/u/.cache" };
	static const char *const home[] = { "/home/u" };
	static const char *const near[] = { "/home/u/.npm2", "/home/u/.np" };
	static const char *const wanted[] = { "npm_config_cache=/mine", "GOCACHE" };
	char **env = build_with(parent, NULL, 0, work, 2);

	(void)state;
	assert_string_equal(get(env, "XDG_CACHE_HOME"), "/tmp/cache");
	assert_string_equal(get(env, "npm_config_cache"), "/tmp/cache/npm");
	assert_string_equal(get(env, "GOMODCACHE"), "/tmp/cache/go-mod");
	assert_null(get(env, "GOCACHE")); /* below XDG_CACHE_HOME by default */
	childenv_free(env);
	env = build_with(parent, NULL, 0, granted, 3);
	assert_null(get(env, "XDG_CACHE_HOME"));
	assert_null(get(env, "npm_config_cache"));
	assert_string_equal(get(env, "GOMODCACHE"), "/tmp/cache/go-mod");
	childenv_free(env);
	env = build_with(parent, NULL, 0, home, 1);
	assert_null(get(env, "XDG_CACHE_HOME"));
	assert_null(get(env, "GOMODCACHE"));
	assert_string_equal(get(env, "GOCACHE"), "/home/u/gocache");
	childenv_free(env);
	env = build_with(parent, NULL, 0, near, 2);
	assert_string_equal(get(env, "npm_config_cache"), "/tmp/cache/npm");
	childenv_free(env);
	env = build_with(moved, NULL, 0, work, 2);
	assert_string_equal(get(env, "XDG_CACHE_HOME"), "/srv/w/c");
	assert_string_equal(get(env, "GOCACHE"), "/srv/w/gocache");
	assert_null(get(env, "GOMODCACHE"));
	childenv_free(env);
	env = build_with(parent, wanted, 2, work, 2); /* what is named passes as it is */
	assert_string_equal(get(env, "npm_config_cache"), "/mine");
	assert_string_equal(get(env, "GOCACHE"), "/home/u/gocache");
	childenv_free(env);
	env = build_with(parent, NULL, 0, NULL, 0); /* everything may be written */
	assert_null(get(env, "XDG_CACHE_HOME"));
	assert_null(get(env, "npm_config_cache"));
	childenv_free(env);
}

static void test_build_sets_the_proxy_variables(void **state)
{
	static const char *const proxies[] = { "HTTP_PROXY",  "http_proxy", "HTTPS_PROXY",
					       "https_proxy", "ALL_PROXY",  "all_proxy" };
	char **env = build(no_env, NULL, 0);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(proxies); i++)
		assert_string_equal(get(env, proxies[i]), "http://127.0.0.1:3128");
	assert_string_equal(get(env, "NO_PROXY"), "localhost,127.0.0.1,::1");
	assert_string_equal(get(env, "no_proxy"), "localhost,127.0.0.1,::1");
	assert_string_equal(get(env, "NODE_USE_ENV_PROXY"), "1");
	assert_string_equal(get(env, "SBX_NET"), "1");
	assert_string_equal(get(env, "TMPDIR"), "/tmp/private");
	assert_non_null(strstr(get(env, "JAVA_TOOL_OPTIONS"), "-Dhttp.proxyHost=127.0.0.1"));
	assert_non_null(strstr(get(env, "JAVA_TOOL_OPTIONS"), "-Dhttps.proxyPort=3128"));
	assert_null(get(env, "GIT_SSH_COMMAND"));
	childenv_free(env);
}

static void test_build_overwrites_the_callers_proxy_variables(void **state)
{
	static const char *const parent[] = { "NO_PROXY=*",
					      "no_proxy=*",
					      "ALL_PROXY=socks5://u:p@h",
					      "HTTP_PROXY=http://evil",
					      "Http_Proxy=http://evil",
					      "TMPDIR=/tmp",
					      "SBX_NET=0",
					      NULL };
	static const char *const wanted[] = { "NO_PROXY", "HTTP_PROXY", "Http_Proxy", "no_*",
					      "H*" };
	char **env = build(parent, wanted, ARRAY_SIZE(wanted));

	(void)state;
	assert_string_equal(get(env, "NO_PROXY"), "localhost,127.0.0.1,::1");
	assert_string_equal(get(env, "no_proxy"), "localhost,127.0.0.1,::1");
	assert_string_equal(get(env, "HTTP_PROXY"), "http://127.0.0.1:3128");
	assert_string_equal(get(env, "ALL_PROXY"), "http://127.0.0.1:3128");
	assert_string_equal(get(env, "TMPDIR"), "/tmp/private");
	assert_string_equal(get(env, "SBX_NET"), "1");
	assert_null(get(env, "Http_Proxy"));
	assert_int_equal(count(env, "NO_PROXY"), 1);
	childenv_free(env);
}

static void test_build_passes_the_allowed_names_once(void **state)
{
	static const char *const parent[] = { "PATH=/usr/bin",
					      "PATH=/evil",
					      "HOME=/home/u",
					      "LC_ALL=C.UTF-8",
					      "LANG=sk_SK",
					      "CI=true",
					      "NO_COLOR=",
					      "garbage",
					      "=x",
					      NULL };
	char **env = build(parent, NULL, 0);

	(void)state;
	assert_string_equal(get(env, "PATH"), "/usr/bin");
	assert_int_equal(count(env, "PATH"), 1);
	assert_string_equal(get(env, "HOME"), "/home/u");
	assert_string_equal(get(env, "LC_ALL"), "C.UTF-8");
	assert_string_equal(get(env, "LANG"), "sk_SK");
	assert_string_equal(get(env, "CI"), "true");
	assert_string_equal(get(env, "NO_COLOR"), "");
	for (char **p = env; *p; p++)
		assert_true(strcmp(*p, "garbage") != 0 && (*p)[0] != '=');
	childenv_free(env);
}

/* The names of L-001. */
static const char *const dangerous[] = {
	"CARGO_TARGET_X_RUNNER=x",
	"CARGO_TARGET_X_LINKER=x",
	"npm_config_script_shell=x",
	"npm_config_node_options=x",
	"npm_config_git=x",
	"NPM_CONFIG_SCRIPT_SHELL=x",
	"NPM_CONFIG_GIT=x",
	"BUN_OPTIONS=x",
	"VIMINIT=x",
	"EXINIT=x",
	"GVIMINIT=x",
	"PYTEST_PLUGINS=x",
	"PYTEST_ADDOPTS=x",
	"JULIA_LOAD_PATH=x",
	"JULIA_DEPOT_PATH=x",
	"DOTNET_ADDITIONAL_DEPS=x",
	"GIO_EXTRA_MODULES=x",
	"GST_PLUGIN_PATH=x",
	"VK_LAYER_PATH=x",
	"LIBGL_DRIVERS_PATH=x",
	"GBM_BACKENDS_PATH=x",
	"MAVEN_ARGS=x",
	"JAVA_OPTS=x",
	"ELIXIR_ERL_OPTIONS=x",
	"PIP_PYTHON=x",
	"RSYNC_RSH=x",
	"CONFIG_SITE=x",
	"TAR_OPTIONS=x",
	"LD_PRELOAD=x",
	"LD_AUDIT=x",
	"LD_LIBRARY_PATH=x",
	"LD_DEBUG_OUTPUT=x",
	"GLIBC_TUNABLES=x",
	"GCONV_PATH=x",
	"LOCPATH=x",
	"MALLOC_CHECK_=x",
	"PYTHONPATH=x",
	"PYTHONSTARTUP=x",
	"PYTHONINSPECT=x",
	"NODE_OPTIONS=x",
	"NODE_PATH=x",
	"PERL5OPT=x",
	"PERL5LIB=x",
	"RUBYOPT=x",
	"_JAVA_OPTIONS=x",
	"BASH_ENV=x",
	"ENV=x",
	"PROMPT_COMMAND=x",
	"SHELLOPTS=x",
	"PS4=x",
	"IFS=x",
	"GIT_SSH=x",
	"GIT_CONFIG_COUNT=1",
	"GIT_EXEC_PATH=x",
	"SSH_AUTH_SOCK=x",
	"GPG_AGENT_INFO=x",
	"DOCKER_HOST=x",
	"KUBECONFIG=x",
	"DBUS_SESSION_BUS_ADDRESS=x",
	"XDG_RUNTIME_DIR=x",
	"DISPLAY=x",
	"WAYLAND_DISPLAY=x",
	"XAUTHORITY=x",
	"NOTIFY_SOCKET=x",
	"LISTEN_FDS=1",
	"LISTEN_PID=1",
	NULL,
};

static const char *const secrets[] = {
	"BUNDLE_RUBYGEMS__PKG__GITHUB__COM=x",
	"BUNDLE_GEMS__CONTRIBSYS__COM=x",
	"AUTHORIZATION=x",
	"PRIVATE=x",
	"API_KEY2=x",
	"CONN_STR=x",
	"AZURE_STORAGE_SAS=x",
	"DB_PASS1=x",
	"AWS_SECRET_ACCESS_KEY=x",
	"AWS_ACCESS_KEY_ID=x",
	"AWS_SESSION_TOKEN=x",
	"GOOGLE_APPLICATION_CREDENTIALS=x",
	"AZURE_CLIENT_SECRET=x",
	"GITHUB_TOKEN=x",
	"GH_PAT=x",
	"NPM_TOKEN=x",
	"OPENAI_API_KEY=x",
	"my_apikey=x",
	"DB_PASSWORD=x",
	"DB_PASS=x",
	"MYSQL_PWD=x",
	"PGPASSWORD=x",
	"BASIC_AUTH=x",
	"CARGO_REGISTRY_TOKEN=x",
	"SIGNING_KEY=x",
	"SENTRY_DSN=x",
	"TS_AUTHKEY=x",
	"DBPASS=x",
	"ADMINPASSWD=x",
	"ROOTPWD=x",
	"PROXYAUTH=x",
	"GCREDS=x",
	"MASTERKEY_FILE=x",
	"LICENSEKEYS=x",
	"DATABASE_URL=postgres://u:p@h/db",
	"SOMETHING=-----BEGIN KEY",
	"PLAIN=ghp_0123456789",
	NULL,
};

static void assert_all(const char *const *list, char **env, bool present)
{
	for (; *list; list++) {
		size_t n = strcspn(*list, "=");
		bool found = false;

		for (char **p = env; *p; p++)
			found |= strcmp(*p, *list) == 0;
		if (found != present)
			fail_msg("%.*s: found %d", (int)n, *list, found);
	}
}

/* Another compiler, other flags: without them the same command makes something else. */
static void test_build_passes_what_a_build_obeys(void **state)
{
	static const char *const parent[] = { "CC=clang",
					      "CFLAGS=-O3",
					      "V=1",
					      "DESTDIR=/tmp/x",
					      "PKG_CONFIG_PATH=/opt/lib/pkgconfig",
					      "CMAKE_BUILD_TYPE=Debug",
					      "GOFLAGS=-mod=vendor",
					      "NODE_ENV=production",
					      "ASAN_OPTIONS=detect_leaks=0",
					      "GIT_AUTHOR_NAME=U",
					      "GITHUB_SHA=0123",
					      "CI_COMMIT_SHA=0123",
					      "GOPROXY=https://a.example,https://b.example/@v",
					      "CCACHE_REMOTE_STORAGE=https://a.example|layout=flat",
					      "CPPFLAGS=-DSORT_KEY=1",
					      NULL };
	static const char *const secret[] = {
		"CI_JOB_TOKEN=x",
		"GITHUB_TOKEN=x",
		"GITHUB_ENV=/x",
		"CMAKE_DEPLOY_TOKEN=x",
		"CI_COMMIT_MESSAGE=ghp_0123456789",
		"PIP_INDEX_URL=https://u:p@example.com/",
		"GOPROXY=https://a.example,https://u:p@b.example",
		"PIP_EXTRA_INDEX_URL=https://a.example/x https://t@b.example/",
		"CCACHE_REMOTE_STORAGE=https://a.example|bearer-token=x",
		"UV_INDEX_URL=https://a.example/simple?v=1&access_key=x",
		"npm_config__auth=x",
		NULL
	};
	char **env = build(parent, NULL, 0);

	(void)state;
	assert_all(parent, env, true);
	childenv_free(env);
	env = build(secret, NULL, 0);
	assert_all(secret, env, false);
	childenv_free(env);
}

static void test_build_keeps_git_from_a_locked_configuration(void **state)
{
	static const char *const parent[] = { "PATH=/usr/bin", NULL };
	struct childenv_plan plan = { .parent = (char *const *)(uintptr_t)parent,
				      .git_locked = true };
	static const char *const own[] = { "GIT_CONFIG_COUNT=0" };
	struct error err;
	char **env = childenv_build(&plan, &err);

	(void)state;
	assert_string_equal(get(env, "GIT_CONFIG_COUNT"), "1");
	assert_string_equal(get(env, "GIT_CONFIG_KEY_0"), "branch.autoSetupMerge");
	childenv_free(env);
	plan.wanted = own;
	plan.nwanted = 1;
	env = childenv_build(&plan, &err);
	assert_string_equal(get(env, "GIT_CONFIG_COUNT"), "0");
	assert_null(get(env, "GIT_CONFIG_KEY_0"));
	childenv_free(env);
}

static void test_left_out_names_what_does_not_pass(void **state)
{
	static const char *const parent[] = {
		"PATH=/usr/bin",      "MYVAR=1", "HTTP_PROXY=http://x", "_=/bin/x", "LD_PRELOAD=x",
		"BASH_FUNC_f%%=() {", NULL
	};
	char **env = build(parent, NULL, 0);
	CLEANUP_FREE char *names = childenv_left_out((char *const *)(uintptr_t)parent, env);

	(void)state;
	assert_string_equal(names, "MYVAR LD_PRELOAD");
	assert_null(childenv_left_out(env, env));
	childenv_free(env);
}

static void test_build_keeps_loaders_and_secrets_out(void **state)
{
	char **env = build(dangerous, NULL, 0);

	(void)state;
	assert_all(dangerous, env, false);
	childenv_free(env);
	env = build(secrets, NULL, 0);
	assert_all(secrets, env, false);
	childenv_free(env);
}

static void test_build_keeps_them_out_by_pattern_too(void **state)
{
	static const char *const wanted[] = { "A*", "B*", "C*", "D*", "E*", "G*", "I*", "J*",
					      "T*", "V*", "n*", "K*", "L*", "M*", "N*", "O*",
					      "P*", "R*", "S*", "W*", "X*", "_*", "m*" };
	static const char *const good[] = { "CARGO_TERM_COLOR=never",
					    "GOFLAGS=-v",
					    "AUTHOR_NAME=x",
					    "KEYBOARD=us",
					    "PASSES=3",
					    "AUTHORITY=x",
					    "npm_config_loglevel=x",
					    "BUNDLE_JOBS=4",
					    "PIPELINE=x",
					    "VERSION2=x",
					    "PRIVATELY=x",
					    "MODULE_NAME=x",
					    NULL };
	char **env = build(dangerous, wanted, ARRAY_SIZE(wanted));

	(void)state;
	assert_all(dangerous, env, false);
	childenv_free(env);
	env = build(secrets, wanted, ARRAY_SIZE(wanted));
	assert_all(secrets, env, false);
	childenv_free(env);
	env = build(good, wanted, ARRAY_SIZE(wanted));
	assert_all(good, env, true);
	childenv_free(env);
}

static void test_build_passes_them_when_named_exactly(void **state)
{
	static const char *const parent[] = { "LD_PRELOAD=x", "GITHUB_TOKEN=t", NULL };
	static const char *const wanted[] = { "LD_PRELOAD",	  "GITHUB_TOKEN", "ABSENT",
					      "SSH_AUTH_SOCK=/s", "SAME=1",	  "SAME=2" };
	char **env = build(parent, wanted, ARRAY_SIZE(wanted));

	(void)state;
	assert_string_equal(get(env, "LD_PRELOAD"), "x");
	assert_string_equal(get(env, "GITHUB_TOKEN"), "t");
	assert_string_equal(get(env, "SSH_AUTH_SOCK"), "/s");
	assert_string_equal(get(env, "SAME"), "2");
	assert_null(get(env, "ABSENT"));
	childenv_free(env);
}

static void test_build_drops_exported_functions(void **state)
{
	static const char *const parent[] = { "BASH_FUNC_ls%%=() { evil; }", "LESS=() { evil; }",
					      "B_OK=() x", NULL };
	static const char *const wanted[] = { "B*" };
	char **env = build(parent, wanted, 1);

	(void)state;
	for (char **p = env; *p; p++)
		assert_null(strstr(*p, "evil"));
	assert_string_equal(get(env, "B_OK"), "() x");
	childenv_free(env);
}

static void test_build_refuses_malformed_wishes(void **state)
{
	static const char *const bad[] = {
		"",    "*",   "=x", "A-B", "1A", "A*B",		 "A*=x",      "**",
		"A**", "A B", " A", "A\n", "-A", "HTTP_PROXY=x", "no_proxy=", "SBX_NET=0"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct childenv_plan plan = { .parent = mutable(no_env),
					      .wanted = &bad[i],
					      .nwanted = 1 };
		struct error err = { .msg = "" };

		if (childenv_build(&plan, &err))
			fail_msg("accepted: %s", bad[i]);
		assert_true(err.msg[0] != '\0');
	}
}

static void test_build_lets_the_user_add_java_options(void **state)
{
	static const char *const wanted[] = { "JAVA_TOOL_OPTIONS=-Xmx1g" };
	char **env = build(no_env, wanted, 1);
	const char *v = get(env, "JAVA_TOOL_OPTIONS");

	(void)state;
	assert_non_null(strstr(v, "-Dhttp.proxyPort=3128"));
	assert_non_null(strstr(v, " -Xmx1g"));
	assert_int_equal(count(env, "JAVA_TOOL_OPTIONS"), 1);
	childenv_free(env);
}

static void test_build_leads_ssh_through_the_proxy_without_capture(void **state)
{
	static const struct {
		const char *self, *want;
	} rows[] = {
		{ "/opt/bin/sbx-net", "ssh -o 'ProxyCommand=/opt/bin/sbx-net connect %h %p'" },
		{ "/a b/sbx-net", "ssh -o 'ProxyCommand=sbx-net connect %h %p'" },
		{ "/a';evil;'/sbx-net", "ssh -o 'ProxyCommand=sbx-net connect %h %p'" },
		{ NULL, "ssh -o 'ProxyCommand=sbx-net connect %h %p'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct childenv_plan plan = { .parent = mutable(no_env),
					      .proxy_port = 1,
					      .self = rows[i].self };
		char **env = childenv_build(&plan, NULL);

		assert_string_equal(get(env, "GIT_SSH_COMMAND"), rows[i].want);
		assert_null(get(env, "TMPDIR"));
		childenv_free(env);
	}
}

/* In somebody else's sandbox the variables are theirs, but for the way to the proxy. */
static void test_build_keeps_everything_else_when_told(void **state)
{
	static const char *const parent[] = { "LD_PRELOAD=x.so",
					      "API_TOKEN=secret",
					      "HTTP_PROXY=http://elsewhere.example:1",
					      "Http_Proxy=http://elsewhere.example:1",
					      "no_proxy=*",
					      "SBX_NET=0",
					      "TMPDIR=/their/tmp",
					      "GIT_SSH_COMMAND=their-ssh",
					      "JAVA_TOOL_OPTIONS=-Dtheirs",
					      NULL };
	struct childenv_plan plan = { .parent = mutable(parent), .keep = true, .proxy_port = 3128 };
	struct error err;
	char **env = childenv_build(&plan, &err);

	(void)state;
	assert_non_null(env);
	assert_string_equal(get(env, "LD_PRELOAD"), "x.so");
	assert_string_equal(get(env, "API_TOKEN"), "secret");
	assert_string_equal(get(env, "TMPDIR"), "/their/tmp");
	assert_string_equal(get(env, "GIT_SSH_COMMAND"), "their-ssh");
	assert_string_equal(get(env, "HTTP_PROXY"), "http://127.0.0.1:3128");
	assert_null(get(env, "Http_Proxy"));
	assert_string_equal(get(env, "no_proxy"), "localhost,127.0.0.1,::1");
	assert_string_equal(get(env, "SBX_NET"), "1");
	assert_non_null(strstr(get(env, "JAVA_TOOL_OPTIONS"), "-Dtheirs"));
	assert_non_null(strstr(get(env, "JAVA_TOOL_OPTIONS"), "-Dhttp.proxyHost=127.0.0.1"));
	childenv_free(env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build_sets_the_proxy_variables),
		cmocka_unit_test(test_build_leads_caches_to_where_they_can_be_written),
		cmocka_unit_test(test_build_overwrites_the_callers_proxy_variables),
		cmocka_unit_test(test_build_passes_the_allowed_names_once),
		cmocka_unit_test(test_build_passes_what_a_build_obeys),
		cmocka_unit_test(test_build_keeps_git_from_a_locked_configuration),
		cmocka_unit_test(test_left_out_names_what_does_not_pass),
		cmocka_unit_test(test_build_keeps_loaders_and_secrets_out),
		cmocka_unit_test(test_build_keeps_them_out_by_pattern_too),
		cmocka_unit_test(test_build_passes_them_when_named_exactly),
		cmocka_unit_test(test_build_drops_exported_functions),
		cmocka_unit_test(test_build_refuses_malformed_wishes),
		cmocka_unit_test(test_build_lets_the_user_add_java_options),
		cmocka_unit_test(test_build_leads_ssh_through_the_proxy_without_capture),
		cmocka_unit_test(test_build_keeps_everything_else_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
