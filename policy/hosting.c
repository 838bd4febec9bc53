#include "policy/hosting.h"

#include <stddef.h>

#include "base/cleanup.h"
#include "policy/hostname.h"

/* Below these anybody can get a name for the asking. */
static const char *const shared_hosting[] = {
	"amazonaws.com",
	"appspot.com",
	"azureedge.net",
	"azurewebsites.net",
	"b-cdn.net",
	"backblazeb2.com",
	"bitbucket.io",
	"blob.core.windows.net",
	"blogspot.com",
	"cloudapp.azure.com",
	"cloudapp.net",
	"cloudfront.net",
	"cloudfunctions.net",
	"codeberg.page",
	"deno.dev",
	"digitaloceanspaces.com",
	"elasticbeanstalk.com",
	"fastly.net",
	"firebaseapp.com",
	"fly.dev",
	"github.io",
	"githubpreview.dev",
	"gitlab.io",
	"glitch.me",
	"googleusercontent.com",
	"herokuapp.com",
	"hf.space",
	"myshopify.com",
	"netlify.app",
	"on.aws",
	"ondigitalocean.app",
	"onrender.com",
	"pages.dev",
	"r2.dev",
	"railway.app",
	"repl.co",
	"replit.app",
	"replit.dev",
	"run.app",
	"storage.googleapis.com",
	"surge.sh",
	"trafficmanager.net",
	"tumblr.com",
	"vercel.app",
	"web.app",
	"wixsite.com",
	"wordpress.com",
	"workers.dev",
};

const char *hosting_under(const char *domain)
{
	for (size_t i = 0; i < ARRAY_SIZE(shared_hosting); i++)
		if (hostname_text_is_under(shared_hosting[i], domain))
			return shared_hosting[i];
	return NULL;
}

bool hosting_is_shared(const char *domain)
{
	return hosting_under(domain) || hostname_text_is_under(domain, "amazonaws.com");
}
