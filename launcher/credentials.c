#include "launcher/credentials.h"

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
	/* clouds and clusters */
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
	/* databases and mail */
	"~/.my.cnf",
	"~/.mylogin.cnf",
	"~/.pgpass",
	"~/.msmtprc",
	"~/.config/msmtp",
	"~/.thunderbird",
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
	/* agents */
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
	"/etc/NetworkManager/system-connections",
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

size_t credentials_own_count(void)
{
	return ARRAY_SIZE(own);
}

char *credentials_own(size_t i, const char *home)
{
	const char *base = own[i].variable ? getenv(own[i].variable) : home;

	return base && base[0] == '/' ? xasprintf("%s/%s", base, own[i].below) : NULL;
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
