/*
 * envnames.c - which variables are what
 *
 * A name that is in two tables is what the caller of these functions asks first; see childenv.c.
 */
#include "launcher/envnames.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* Names that pass without being asked for. A final '*' matches the rest. */
static const char *const allowed[] = {
	/* who and where */
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "EMAIL",
	/* the terminal, and how output should look there */
	"TERM", "COLORTERM", "COLUMNS", "LINES", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "NO_COLOR",
	"FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LS_COLORS",
	/* language and time */
	"LANG", "LANGUAGE", "LC_*", "TZ", "SOURCE_DATE_EPOCH",
	/* what to open text with */
	"EDITOR", "VISUAL", "PAGER", "LESS",
	/* that nobody is there to answer: build tools and installers behave otherwise */
	"CI", "DEBIAN_FRONTEND", "CONTINUOUS_INTEGRATION", "GITHUB_ACTIONS", "GITLAB_CI",
	"TF_BUILD", "BUILDKITE", "CIRCLECI", "TRAVIS", "JENKINS_URL",
	/* what is being built; not the files that tell the CI system what to do next (GITHUB_ENV) */
	"GITHUB_SHA", "GITHUB_REF", "GITHUB_REF_NAME", "GITHUB_REF_TYPE", "GITHUB_HEAD_REF",
	"GITHUB_BASE_REF", "GITHUB_REPOSITORY", "GITHUB_SERVER_URL", "GITHUB_RUN_ID",
	"GITHUB_RUN_NUMBER", "GITHUB_RUN_ATTEMPT", "GITHUB_WORKFLOW", "GITHUB_JOB", "GITHUB_ACTOR",
	"GITHUB_EVENT_NAME", "GITHUB_WORKSPACE", "RUNNER_OS", "RUNNER_ARCH", "CI_COMMIT_*",
	"CI_PROJECT_NAME", "CI_PROJECT_PATH", "CI_PROJECT_DIR", "CI_PIPELINE_ID", "CI_PIPELINE_IID",
	"CI_JOB_ID", "CI_JOB_NAME", "CI_JOB_STAGE", "BUILD_ID", "BUILD_NUMBER", "JOB_NAME",
	"BRANCH_NAME",
	/* how to build: without them the same command makes something else, and says nothing */
	"CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "RANLIB", "STRIP", "OBJCOPY", "FC", "F77",
	"CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "FFLAGS", "FCFLAGS", "ASFLAGS", "ARFLAGS",
	"LDLIBS", "LIBS", "DESTDIR", "PREFIX", "V", "VERBOSE", "ARCH", "CROSS_COMPILE",
	"PKG_CONFIG", "PKG_CONFIG_*", "CMAKE_*", "CTEST_*", "NINJA_STATUS", "CCACHE_*",
	"DEB_BUILD_*", "RUSTFLAGS", "RUSTDOCFLAGS", "RUST_*", "RUSTUP_TOOLCHAIN", "CARGO_BUILD_*",
	"CARGO_PROFILE_*", "CARGO_TERM_*", "CARGO_INCREMENTAL", "CARGO_TARGET_DIR",
	"CARGO_NET_OFFLINE", "GOFLAGS", "GOOS", "GOARCH", "GOARM", "GOAMD64", "GODEBUG",
	"GO111MODULE", "GOTOOLCHAIN", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GOSUMDB", "GONOSUMDB",
	"CGO_*", "NODE_ENV", "npm_config_registry", "NPM_CONFIG_REGISTRY", "PIP_INDEX_URL",
	"PIP_EXTRA_INDEX_URL", "PIP_NO_CACHE_DIR", "PIP_CONSTRAINT", "UV_INDEX_URL",
	"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING",
	"PYTHONUTF8", "OMP_NUM_THREADS", "GIT_AUTHOR_*", "GIT_COMMITTER_*",
	/* how to test */
	"ASAN_OPTIONS", "LSAN_OPTIONS", "MSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "GTEST_*",
	/* where a tool chain or a user's files lie, when not in the default place: paths only */
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_DIRS",
	"XDG_DATA_DIRS", "JAVA_HOME", "GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "CARGO_HOME",
	"RUSTUP_HOME", "NVM_DIR", "NVM_BIN", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "VIRTUAL_ENV",
	"CONDA_PREFIX", "PYENV_ROOT", "RBENV_ROOT", "SDKMAN_DIR", "GRADLE_USER_HOME", "M2_HOME",
	/* certificates of a company's own CA: without them every TLS connection there fails */
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO",
	"NODE_EXTRA_CA_CERTS"
};

/*
 * Variables that make a loader, a libc, an interpreter, a shell or git run or load something, or
 * that hand over descriptors: only when named exactly.
 */
static const char *const exact_only[] = {
	/* the dynamic loader and libc */
	"LD_*", "DYLD_*", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "NLSPATH", "MALLOC_*",
	"HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "RESOLV_*", "GETCONF_DIR", "TZDIR",
	/* shells */
	"BASH_ENV", "ENV", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "BASH_*", "PS0", "PS1", "PS2",
	"PS3", "PS4", "IFS", "CDPATH", "GLOBIGNORE", "ZDOTDIR", "FPATH", "INPUTRC",
	/* interpreters and virtual machines */
	"PYTHON*", "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_*", "PERL*", "RUBY*", "GEM_*",
	"BUNDLE_GEMFILE", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH",
	"MAVEN_OPTS", "GRADLE_OPTS", "LUA_*", "PHPRC", "PHP_INI_SCAN_DIR", "R_*", "ERL_*",
	"DOTNET_STARTUP_HOOKS", "CORECLR_*", "COMPlus_*", "AWKPATH", "AWKLIBPATH", "TCLLIBPATH",
	"GUILE_*", "SBCL_*", "OCAMLRUNPARAM", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES",
	"JULIA_BINDIR", "JULIA_PROJECT", "MAVEN_ARGS", "IPYTHONDIR", "JUPYTER_*", "HGRCPATH",
	"VIMINIT", "EXINIT", "GVIMINIT", "VIM", "VIMRUNTIME", "GCC_EXEC_PREFIX", "COMPILER_PATH",
	/* libraries that load what a variable says */
	"GST_*", "VK_*", "EGL_*", "__EGL_*", "OCL_ICD_*", "MAGICK_*", "LV2_PATH", "LADSPA_PATH",
	"SASL_PATH", "KRB5_CONFIG", "ALSA_CONFIG_*",
	/* programs that run what a variable says */
	"GIT_*", "LESSOPEN", "LESSCLOSE", "LESSKEY*", "RUSTC", "RUSTDOC", "CONFIG_SITE",
	"npm_config_git", "NPM_CONFIG_GIT", "npm_config_userconfig", "NPM_CONFIG_USERCONFIG",
	"npm_config_globalconfig", "NPM_CONFIG_GLOBALCONFIG", "YARN_YARN_PATH", "YARN_RC_FILENAME",
	"ANSIBLE_CONFIG", "TF_CLI_*", "DIRENV_*", "BROWSER", "MAKEFLAGS", "GNUMAKEFLAGS",
	"MAKEFILES", "RUSTC_WRAPPER", "TERMINFO*", "TERMCAP", "GTK_*", "QT_*", "XDG_RUNTIME_DIR",
	/* sockets and descriptors of the caller's session */
	"SSH_*", "GPG_*", "DBUS_*", "DISPLAY", "WAYLAND_*", "XAUTHORITY", "NOTIFY_SOCKET",
	"LISTEN_*", "DOCKER_HOST", "KUBECONFIG", "TMUX*", "STY", "VSCODE_*"
};

/* The end of a name of the same kind: PYTEST_ADDOPTS, CARGO_TARGET_X_RUNNER, LIBGL_DRIVERS_PATH. */
static const char *const exact_only_end[] = {
	/* options, in which others than harmless ones are */
	"OPTS", "OPTIONS",
	/* a program */
	"_RUNNER", "_LINKER", "_WRAPPER", "_LAUNCHER", "_COMMAND", "_HANDLER", "_SHELL", "_PYTHON",
	"_HOOK", "_HOOKS", "ASKPASS", "EDITOR", "PAGER", "VIEWER", "_RSH", "_SSH",
	"_SYMBOLIZER_PATH",
	/* what is loaded, and where it is looked for */
	"PRELOAD", "PLUGIN", "PLUGINS", "PLUGIN_PATH", "PLUGINS_PATH", "PLUGIN_DIR", "PLUGINS_DIR",
	"MODULE", "MODULES", "MODULE_PATH", "MODULES_PATH", "MODULE_DIR", "MODULE_FILE",
	"LOAD_PATH", "LOADPATH", "LIBRARY", "LIBRARY_PATH", "_LAYERS", "LAYER_PATH", "DRIVER_PATH",
	"DRIVERS_PATH", "BACKENDS_PATH", "_DEPS", "DEPOT_PATH", "_PROFILER"
};

/* A part of a name between underscores that marks a credential. */
static const char *const secret_part[] = {
	"KEY",		 "KEYS",    "APIKEY",  "PASS",	    "PW",	"PWD",
	"PASSWD",	 "PAT",	    "PIN",     "AUTH",	    "OAUTH",	"OAUTH2",
	"BEARER",	 "JWT",	    "COOKIE",  "COOKIES",   "CRED",	"CREDS",
	"AUTHORIZATION", "PRIVATE", "PRIV",    "SAS",	    "MNEMONIC", "MFA",
	"HMAC",		 "CSRF",    "XSRF",    "JWK",	    "JWKS",	"PEM",
	"PFX",		 "P12",	    "CONNSTR", "DSN",	    "SALT",	"SESSION",
	"SESSIONID",	 "OTP",	    "TOTP",    "SIGNATURE", "LOGIN",	"WEBHOOK"
};

/* The end of a part: TS_AUTHKEY, DBPASS. */
static const char *const secret_end[] = { "KEY",  "KEYS", "PASS",  "PASSWD", "PWD",
					  "AUTH", "CRED", "CREDS", "TOKEN",  "OTP" };

/* Anywhere in a name. */
static const char *const secret_word[] = {
	"TOKEN",	   "SECRET",	"PASSWORD", "PASSWD", "PASSPHRASE",	   "CREDENTIAL",
	"PRIVATEKEY",	   "ACCESSKEY", "APIKEY",   "NETRC",  "CONNECTION_STRING", "CONN_STR",
	"CONNECTIONSTRING"
};

/* The start of a value that marks a credential, whatever its name is. */
static const char *const secret_value[] = { "-----BEGIN",  "ghp_",   "gho_",  "ghs_",  "ghu_",
					    "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA",
					    "ASIA",	   "sk-",    "npm_",  "pypi-", "eyJ",
					    "Bearer ",	   "Basic ", "AIza" };

/* Set by us and by nobody else, in any mixture of cases: Python takes Http_Proxy for the same. */
static const char *const proxy_names[] = { "HTTP_PROXY",  "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
					   "SOCKS_PROXY", "FTP_PROXY",	 "WS_PROXY",  "WSS_PROXY",
					   "RSYNC_PROXY", "SBX_NET" };

bool envnames_match(const char *pattern, const char *name, size_t len)
{
	size_t n = strlen(pattern);

	if (n > 0 && pattern[n - 1] == '*')
		return len >= n - 1 && memcmp(pattern, name, n - 1) == 0;
	return len == n && memcmp(pattern, name, n) == 0;
}

static bool listed(const char *const *list, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (envnames_match(list[i], name, len))
			return true;
	return false;
}

#define LISTED(list, name, len) listed(list, ARRAY_SIZE(list), name, len)

bool envnames_is_ours(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(proxy_names); i++)
		if (len == strlen(proxy_names[i]) && strncasecmp(proxy_names[i], name, len) == 0)
			return true;
	return false;
}

static char ascii_upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* [A-Za-z_][A-Za-z0-9_]*: what is not a name (BASH_FUNC_f%%, say) never passes. */
bool envnames_is_name(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool digit = p[i] >= '0' && p[i] <= '9';
		char c = ascii_upper(p[i]);

		if (!(c >= 'A' && c <= 'Z') && c != '_' && !(digit && i > 0))
			return false;
	}
	return len > 0;
}

static bool contains_nocase(const char *p, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= len; i++)
		if (strncasecmp(p + i, word, n) == 0)
			return true;
	return false;
}

static bool ends_nocase(const char *p, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && strncasecmp(p + len - n, end, n) == 0;
}

static size_t without_digits(const char *p, size_t len)
{
	while (len > 0 && p[len - 1] >= '0' && p[len - 1] <= '9')
		len--;
	return len;
}

static bool is_secret_part(const char *p, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(secret_part); i++)
		if (len == strlen(secret_part[i]) && strncasecmp(p, secret_part[i], len) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(secret_end); i++)
		if (len > strlen(secret_end[i]) && ends_nocase(p, len, secret_end[i]))
			return true;
	return false;
}

/* Bundler has "user:password" of a host in a variable of the host's name: BUNDLE_GEMS__EXAMPLE__COM. */
static bool is_bundlers(const char *name, size_t len)
{
	return envnames_match("BUNDLE_*", name, len) && contains_nocase(name, len, "__");
}

/* @breaks: what is between the parts of a name */
static bool looks_secret(const char *name, size_t len, const char *breaks)
{
	size_t start = 0;

	for (size_t i = 0; i < ARRAY_SIZE(secret_word); i++)
		if (contains_nocase(name, len, secret_word[i]))
			return true;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && !strchr(breaks, name[i]))
			continue;
		if (is_secret_part(name + start, i - start) || /* API_KEY2 */
		    is_secret_part(name + start, without_digits(name + start, i - start)))
			return true;
		start = i + 1;
	}
	return false;
}

bool envnames_looks_secret(const char *name, size_t len)
{
	return is_bundlers(name, len) || looks_secret(name, len, "_");
}

/* "https://host/simple?token=x", and as ccache has it: "https://host|bearer-token=x" */
static bool has_secret_parameter(const char *p, size_t len)
{
	for (size_t i = 0, start = 0; i < len; i++) {
		if (strchr("?&;|", p[i]))
			start = i + 1;
		else if (p[i] == '=' && start && looks_secret(p + start, i - start, "_-"))
			return true;
	}
	return false;
}

/* scheme://user:password@host, of any of the URLs that there are: GOPROXY, say, has a list. */
static bool has_secret_url(const char *value)
{
	for (const char *p = value; (p = strstr(p, "://")); p += 3) {
		size_t n = strcspn(p + 3, "/?# \t\n");

		if (memchr(p + 3, '@', n) || has_secret_parameter(p + 3, strcspn(p + 3, " \t\n")))
			return true;
	}
	return false;
}

bool envnames_value_looks_secret(const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(secret_value); i++)
		if (strncmp(value, secret_value[i], strlen(secret_value[i])) == 0)
			return true;
	return has_secret_url(value);
}

bool envnames_is_allowed(const char *name, size_t len)
{
	return LISTED(allowed, name, len);
}

bool envnames_is_exact_only(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(exact_only_end); i++)
		if (ends_nocase(name, len, exact_only_end[i]))
			return true;
	return LISTED(exact_only, name, len);
}
