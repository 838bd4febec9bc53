#include "proxy/libssl.h"

#include <dlfcn.h>
#include <openssl/opensslv.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)
#define LIBRARY	   "libssl.so." TEXT(OPENSSL_SHLIB_VERSION)

static bool find(void *library, const char *name, void *out)
{
	void *f = dlsym(library, name);

	memcpy(out, &f, sizeof(f)); /* ISO C has no cast from an object to a function */
	return f;
}

const struct libssl *libssl_load(struct error *err)
{
	static struct libssl lib;
	static bool loaded;
	void *library;

	if (loaded)
		return &lib;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		error_set(err, 0, "cannot load " LIBRARY ": %s", dlerror());
		return NULL;
	}
#define LIBSSL_FIND(name)                                         \
	if (!find(library, #name, &lib.name)) {                   \
		error_set(err, 0, LIBRARY " has no " #name "()"); \
		return NULL;                                      \
	}
	LIBSSL_FUNCTIONS(LIBSSL_FIND)
#undef LIBSSL_FIND
	loaded = true;
	return &lib;
}
