#include "launcher/files/credentials.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

/*
 * A leading "~/" is the home directory, a final "/%u" the user id. What is listed here is hidden
 * (an empty directory or file in its place) unless the user grants it by name. Keep sorted within
 * each group; docs/threat-model.md refers to this table.
 */
static const char *const table[] = {
	/* keys and passwords */
	"~/.authinfo",
	"~/.authinfo.gpg",
	"~/.netrc.gpg",
	"~/.ssh",
	"~/.gnupg",
	"~/.netrc",
	"~/_netrc",
	"~/.git-credentials",
	"~/.config/git/credentials",
	"~/.password-store",
	"~/.local/share/keyrings",
	"~/.local/share/kwalletd",
	"~/.pki",
	"~/.vault-token",
	"~/.config/op",
	"~/.config/Bitwarden CLI",
	"~/.config/keepassxc",
	"~/.config/sops",
	"~/.config/age",
	"~/.acme.sh",
	"~/.google_authenticator",
	"~/.local/share/mkcert/rootCA-key.pem",
	"~/.step",
	/* clouds and clusters */
	"~/.config/.wrangler",
	"~/.config/helm/registry",
	"~/.config/netlify",
	"~/.config/ngrok",
	"~/.config/openstack",
	"~/.config/stripe",
	"~/.databrickscfg",
	"~/.dbt/profiles.yml",
	"~/.kaggle",
	"~/.local/share/com.vercel.cli",
	"~/.mc/config.json",
	"~/.pulumi/credentials.json",
	"~/.snowsql/config",
	"~/.wrangler/config",
	"~/.aws",
	"~/.azure",
	"~/.boto",
	"~/.config/doctl",
	"~/.config/gcloud",
	"~/.config/hcloud",
	"~/.config/rclone",
	"~/.config/heroku",
	"~/.fly",
	"~/.kube",
	"~/.oci",
	"~/.s3cfg",
	"~/.terraform.d/credentials.tfrc.json",
	"~/.terraformrc",
	"~/.aliyun",
	"~/.config/scw",
	"~/.local/share/uv/credentials",
	"~/.ngrok2",
	/* forges, registries, builds */
	"~/.config/gh",
	"~/.config/glab-cli",
	"~/.config/hub",
	"~/.cargo/credentials",
	"~/.cargo/credentials.toml",
	"~/.composer/auth.json",
	"~/.config/containers/auth.json",
	"~/.config/pypoetry/auth.toml",
	"~/.docker/config.json",
	"~/.gem/credentials",
	"~/.gradle/gradle.properties",
	"~/.m2/settings.xml",
	"~/.m2/settings-security.xml",
	"~/.npmrc",
	"~/.pypirc",
	"~/.yarnrc.yml",
	"~/.ivy2/.credentials",
	"~/.sbt/.credentials",
	"~/.config/pnpm/auth.ini",
	"~/.config/tea",
	"~/.subversion/auth",
	/* databases, mail, chat and remote desktops */
	"~/.config/filezilla",
	"~/.config/remmina",
	"~/.config/Signal",
	"~/.config/Slack",
	"~/.config/discord",
	"~/.config/weechat/sec.conf",
	"~/.fetchmailrc",
	"~/.mbsyncrc",
	"~/.offlineimaprc",
	"~/.purple/accounts.xml",
	"~/.my.cnf",
	"~/.mylogin.cnf",
	"~/.pgpass",
	"~/.msmtprc",
	"~/.config/msmtp",
	"~/.thunderbird",
	"~/.config/Element",
	"~/.config/tigervnc/passwd",
	"~/.davfs2/secrets",
	"~/.local/share/TelegramDesktop",
	"~/.local/share/evolution",
	"~/.smbcredentials",
	"~/.vnc/passwd",
	/* browsers */
	"~/.mozilla",
	"~/.config/BraveSoftware",
	"~/.config/chromium",
	"~/.config/google-chrome",
	"~/.config/google-chrome-beta",
	"~/.config/microsoft-edge",
	"~/.config/opera",
	"~/.config/vivaldi",
	"~/snap/firefox",
	"~/snap/chromium",
	"~/.var/app",
	"~/.librewolf",
	"~/.zen",
	"~/snap/brave",
	"~/snap/thunderbird",
	/* agents and editors */
	"~/.aider.conf.yml",
	"~/.cache/huggingface/token",
	"~/.claude.json",
	"~/.codeium",
	"~/.config/Code/User/globalStorage",
	"~/.config/Cursor/User/globalStorage",
	"~/.config/VSCodium/User/globalStorage",
	"~/.config/goose",
	"~/.config/io.datasette.llm/keys.json",
	"~/.config/mods",
	"~/.continue",
	"~/.cursor/mcp.json",
	"~/.huggingface/token",
	"~/.claude/.credentials.json",
	"~/.codex/auth.json",
	"~/.gemini/oauth_creds.json",
	"~/.config/github-copilot",
	"~/.local/share/opencode/auth.json",
	/* wallets */
	"~/.bitcoin",
	"~/.electrum",
	"~/.ethereum",
	/* histories */
	"~/.dbshell",
	"~/.duckdb_history",
	"~/.gdb_history",
	"~/.irb_history",
	"~/.lldb_history",
	"~/.local/share/atuin",
	"~/.local/share/nvim/shada",
	"~/.mongodb/mongosh",
	"~/.php_history",
	"~/.pry_history",
	"~/.zhistory",
	"~/.bash_history",
	"~/.zsh_history",
	"~/.ash_history",
	"~/.history",
	"~/.local/share/fish/fish_history",
	"~/.lesshst",
	"~/.mysql_history",
	"~/.node_repl_history",
	"~/.psql_history",
	"~/.python_history",
	"~/.rediscli_history",
	"~/.sqlite_history",
	"~/.viminfo",
	/* our own: settings, answers, trust, keys */
	"~/.config/sbx-net",
	"~/.local/share/sbx-net",
	"~/.local/state/sbx-net",
	"~/.cache/sbx-net",
	/* the system's; most are root's anyway, but a run may be root's too */
	"/etc/shadow",
	"/etc/shadow-",
	"/etc/gshadow",
	"/etc/gshadow-",
	"/etc/krb5.keytab",
	"/etc/kubernetes",
	"/etc/letsencrypt",
	"/etc/mysql/debian.cnf",
	"/etc/NetworkManager/system-connections",
	"/etc/openvpn",
	"/etc/postfix/sasl_passwd",
	"/etc/ppp/chap-secrets",
	"/etc/rancher/k3s/k3s.yaml",
	"/etc/security/opasswd",
	"/etc/ssh/ssh_host_dsa_key",
	"/etc/ssh/ssh_host_ecdsa_key",
	"/etc/ssh/ssh_host_ed25519_key",
	"/etc/ssh/ssh_host_rsa_key",
	"/etc/ssl/private",
	"/etc/sudoers",
	"/etc/sudoers.d",
	"/etc/wireguard",
	"/run/secrets",
	"/run/user/%u",
	"/var/lib/iwd",
	"/var/lib/kubelet",
	"/var/run/secrets",
	"/var/spool/cron",
};

/* Those of ours that a run reads: held even where they are missing (protect.c). */
static const struct own {
	const char *variable; /* the base directory's, or NULL */
	const char *below;    /* of it, or of the home directory */
} own[] = {
	{ NULL, ".config/sbx-net" },
	{ NULL, ".local/state/sbx-net" },
	{ "XDG_CONFIG_HOME", "sbx-net" },
	{ "XDG_STATE_HOME", "sbx-net" },
};

/* Variables that name a directory in the place of one in the table. */
static const struct base {
	const char *variable;
	const char *usual;
} bases[] = {
	{ "XDG_CONFIG_HOME", "~/.config/" },
	{ "XDG_DATA_HOME", "~/.local/share/" },
	{ "XDG_STATE_HOME", "~/.local/state/" },
	{ "XDG_CACHE_HOME", "~/.cache/" },
	{ "CARGO_HOME", "~/.cargo/" },
	{ "CLAUDE_CONFIG_DIR", "~/.claude/" },
	{ "CODEX_HOME", "~/.codex/" },
	{ "COMPOSER_HOME", "~/.composer/" },
	{ "DOCKER_CONFIG", "~/.docker/" },
	{ "GRADLE_USER_HOME", "~/.gradle/" },
	{ "CURL_HOME", "~/" }, /* .netrc */
};

/* Variables that name a secret file or directory itself, or several with colons between them. */
static const char *const named[] = {
	"ANSIBLE_VAULT_PASSWORD_FILE",
	"AWS_CONFIG_FILE",
	"AWS_SHARED_CREDENTIALS_FILE",
	"AWS_WEB_IDENTITY_TOKEN_FILE",
	"AZURE_CONFIG_DIR",
	"BITWARDENCLI_APPDATA_DIR",
	"BOTO_CONFIG",
	"CLOUDSDK_CONFIG",
	"GH_CONFIG_DIR",
	"GLAB_CONFIG_DIR",
	"GNUPGHOME",
	"GOOGLE_APPLICATION_CREDENTIALS",
	"HELM_REGISTRY_CONFIG",
	"HISTFILE",
	"ICEAUTHORITY",
	"KRB5_KTNAME",
	"KRB5CCNAME",
	"KUBECONFIG",
	"LESSHISTFILE",
	"MYSQL_HISTFILE",
	"NETRC",
	"NODE_REPL_HISTORY",
	"NPM_CONFIG_USERCONFIG",
	"npm_config_userconfig",
	"OCI_CLI_CONFIG_FILE",
	"OP_CONFIG_DIR",
	"PASSWORD_STORE_DIR",
	"PGPASSFILE",
	"PIP_CONFIG_FILE",
	"PSQL_HISTORY",
	"PYTHON_HISTORY",
	"RCLONE_CONFIG",
	"REDISCLI_HISTFILE",
	"REGISTRY_AUTH_FILE",
	"SOPS_AGE_KEY_FILE",
	"SQLITE_HISTORY",
	"TF_CLI_CONFIG_FILE",
	"WGETRC",
	"XAUTHORITY",
};

/* One value, without its final slashes; NULL for nothing, or what cannot be told. */
static char *absolute(const char *value, size_t n, const char *home)
{
	CLEANUP_FREE char *here = NULL;

	if (n > 5 && strncmp(value, "FILE:", 5) == 0) { /* KRB5CCNAME */
		value += 5;
		n -= 5;
	}
	while (n > 1 && value[n - 1] == '/')
		n--;
	if (n == 0)
		return NULL;
	if (value[0] == '/')
		return xasprintf("%.*s", (int)n, value);
	if (n > 1 && value[0] == '~' && value[1] == '/')
		return home ? xasprintf("%s%.*s", home, (int)(n - 1), value + 1) : NULL;
	here = getcwd(NULL, 0);
	return here ? xasprintf("%s/%.*s", here, (int)n, value) : NULL;
}

static int use_base(const struct base *b, const char *home, credentials_use *use, void *arg)
{
	const char *value = getenv(b->variable);
	CLEANUP_FREE char *dir = value ? absolute(value, strlen(value), home) : NULL;
	size_t n = strlen(b->usual);

	for (size_t i = 0; dir && i < ARRAY_SIZE(table); i++) {
		CLEANUP_FREE char *path = NULL;
		int rc;

		if (strncmp(table[i], b->usual, n) != 0)
			continue;
		path = xasprintf("%s/%s", dir, table[i] + n);
		rc = use(arg, b->variable, path);
		if (rc)
			return rc;
	}
	return 0;
}

static int use_named(const char *variable, const char *home, credentials_use *use, void *arg)
{
	const char *p = getenv(variable);

	while (p && *p) {
		size_t n = strncmp(p, "FILE:", 5) == 0 ? 5 + strcspn(p + 5, ":") : strcspn(p, ":");
		CLEANUP_FREE char *path = absolute(p, n, home);
		int rc = path ? use(arg, variable, path) : 0;

		if (rc)
			return rc;
		p += n + (p[n] == ':');
	}
	return 0;
}

int credentials_moved(const char *home, credentials_use *use, void *arg)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(bases); i++)
		rc = use_base(&bases[i], home, use, arg);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(named); i++)
		rc = use_named(named[i], home, use, arg);
	return rc;
}

size_t credentials_own_count(void)
{
	return ARRAY_SIZE(own);
}

char *credentials_own(size_t i, const char *home)
{
	const char *base = own[i].variable ? getenv(own[i].variable) : home;

	return base && base[0] == '/' ? xasprintf("%s/%s", base, own[i].below) : NULL;
}

bool credentials_barred(size_t i)
{
	return strcmp(table[i], "~/.viminfo") == 0;
}

size_t credentials_count(void)
{
	return ARRAY_SIZE(table);
}

char *credentials_path(size_t i, const char *home, uid_t uid)
{
	const char *path = table[i];
	size_t n = strlen(path);

	if (path[0] == '~')
		return home ? xasprintf("%s%s", home, path + 1) : NULL;
	if (n > 3 && strcmp(path + n - 3, "/%u") == 0)
		return xasprintf("%.*s/%u", (int)(n - 3), path, uid);
	return xstrdup(path);
}
