/*
 * lint_tables.h - names that lint.c knows; included by lint.c only
 *
 * Not complete and not a wall: a reader of `check` learns what kind of hole an entry may be.
 */
#ifndef POLICY_LINT_TABLES_H
#define POLICY_LINT_TABLES_H

/* Services through which data reaches places that are not on the list. */
struct relay {
	const char *name;
	const char *what;
};

#define FETCHES	 "fetches any page for the asker"
#define PASTES	 "stores what anybody sends"
#define HOOKS	 "shows its owner what is sent to it"
#define TUNNELS	 "leads to anybody's own machine"
#define SHORTENS "redirects to anywhere"
#define RESOLVES "resolves any name, which carries data out"
#define ANY_ADDR "resolves to whatever address its name spells"
#define MESSAGES "passes messages to anybody"

static const struct relay relays[] = {
	{ "translate.google.com", FETCHES },
	{ "translate.goog", FETCHES },
	{ "translate.yandex.com", FETCHES },
	{ "translate.yandex.net", FETCHES },
	{ "webcache.googleusercontent.com", FETCHES },
	{ "web.archive.org", FETCHES },
	{ "archive.ph", FETCHES },
	{ "archive.today", FETCHES },
	{ "r.jina.ai", FETCHES },
	{ "corsproxy.io", FETCHES },
	{ "allorigins.win", FETCHES },
	{ "cors-anywhere.herokuapp.com", FETCHES },
	{ "pastebin.com", PASTES },
	{ "paste.ee", PASTES },
	{ "hastebin.com", PASTES },
	{ "dpaste.com", PASTES },
	{ "dpaste.org", PASTES },
	{ "ix.io", PASTES },
	{ "0x0.st", PASTES },
	{ "transfer.sh", PASTES },
	{ "file.io", PASTES },
	{ "catbox.moe", PASTES },
	{ "termbin.com", PASTES },
	{ "rentry.co", PASTES },
	{ "gist.github.com", PASTES },
	{ "gist.githubusercontent.com", PASTES },
	{ "webhook.site", HOOKS },
	{ "requestbin.com", HOOKS },
	{ "pipedream.net", HOOKS },
	{ "beeceptor.com", HOOKS },
	{ "requestcatcher.com", HOOKS },
	{ "hookbin.com", HOOKS },
	{ "interact.sh", HOOKS },
	{ "oastify.com", HOOKS },
	{ "burpcollaborator.net", HOOKS },
	{ "oast.fun", HOOKS },
	{ "oast.live", HOOKS },
	{ "oast.me", HOOKS },
	{ "oast.online", HOOKS },
	{ "oast.pro", HOOKS },
	{ "oast.site", HOOKS },
	{ "dnslog.cn", HOOKS },
	{ "canarytokens.com", HOOKS },
	{ "ngrok.io", TUNNELS },
	{ "ngrok.app", TUNNELS },
	{ "ngrok.dev", TUNNELS },
	{ "ngrok-free.app", TUNNELS },
	{ "ngrok-free.dev", TUNNELS },
	{ "trycloudflare.com", TUNNELS },
	{ "loca.lt", TUNNELS },
	{ "serveo.net", TUNNELS },
	{ "localhost.run", TUNNELS },
	{ "lhr.life", TUNNELS },
	{ "pagekite.me", TUNNELS },
	{ "bore.pub", TUNNELS },
	{ "tunnelmole.net", TUNNELS },
	{ "devtunnels.ms", TUNNELS },
	{ "ts.net", TUNNELS },
	{ "bit.ly", SHORTENS },
	{ "tinyurl.com", SHORTENS },
	{ "is.gd", SHORTENS },
	{ "t.co", SHORTENS },
	{ "dns.google", RESOLVES },
	{ "cloudflare-dns.com", RESOLVES },
	{ "one.one.one.one", RESOLVES },
	{ "dns.quad9.net", RESOLVES },
	{ "doh.opendns.com", RESOLVES },
	{ "dns.nextdns.io", RESOLVES },
	{ "dns.adguard.com", RESOLVES },
	{ "nip.io", ANY_ADDR },
	{ "sslip.io", ANY_ADDR },
	{ "lvh.me", ANY_ADDR },
	{ "localtest.me", ANY_ADDR },
	{ "hooks.slack.com", MESSAGES },
	{ "api.telegram.org", MESSAGES },
	{ "discord.com", MESSAGES },
	{ "discordapp.com", MESSAGES },
	{ "ntfy.sh", MESSAGES },
};

/* Labels of the root that people write when they mean all that lies below. */
static const char *const root_labels[] = {
	"ai",	"app", "biz",	 "cloud", "co",	   "com", "de",	 "dev", "edu", "eu", "fr",   "gov",
	"info", "int", "io",	 "jp",	  "me",	   "mil", "net", "nl",	"org", "ru", "tech", "uk",
	"us",	"xyz", "online", "site",  "store", "sh",  "cn",	 "in",	"br",  "au", "ca",   "ch",
};

#endif
