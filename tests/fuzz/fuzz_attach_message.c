/* A request that is understood says the same when it is written and read again. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/serve/attach_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(const struct attach_list *a, const struct attach_list *b)
{
	assert(a->n == b->n);
	for (size_t i = 0; i < a->n; i++)
		assert(strcmp(a->v[i], b->v[i]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct attach_reply reply;
	struct attach_request a, b;
	struct error err;
	char *line;

	(void)attach_reply_parse((const char *)data, size, &reply, &err);
	if (attach_request_parse((const char *)data, size, &a, &err) < 0)
		return 0;
	line = attach_request_format(&a);
	assert(attach_request_parse(line, strlen(line), &b, &err) == 0);
	assert(a.op == b.op);
	if (a.op == ATTACH_OP_ATTACH) {
		assert(a.capture == b.capture);
		same(&a.only, &b.only);
		same(&a.deny, &b.deny);
		same(&a.forward, &b.forward);
	}
	free(line);
	attach_request_clear(&a);
	attach_request_clear(&b);
	return 0;
}
