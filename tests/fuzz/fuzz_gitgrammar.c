/* What is of a form holds no zero byte, and nothing that its form leaves out; and it is so line by line. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/files/gitgrammar.h"
#include "launcher/files/gitname.h"

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Control characters but tabs and line ends are shown by no form. */
static void check_shown(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		CHECK((unsigned char)text[i] >= 0x20 || isspace((unsigned char)text[i]));
}

static void check_lines(gitgrammar *form, const char *text, size_t n, const char *at)
{
	bool all = true;

	for (const char *p = text, *end = text + n, *next; p < end; p = next) {
		next = memchr(p, '\n', (size_t)(end - p));
		next = next ? next + 1 : end;
		all = all && form(p, (size_t)(next - p), at);
	}
	CHECK(all == form(text, n, at));
}

static void check_name(const char *text, size_t n)
{
	CHECK(n > 0 && text[0] != '/' && text[n - 1] != '/' && !memchr(text, ' ', n));
	for (size_t i = 0; i + 1 < n; i++)
		CHECK(text[i] != '.' || (text[i + 1] != '.' && i > 0 && text[i - 1] != '/'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static gitgrammar *const lines[] = {
		gitgrammar_text,      gitgrammar_packed_refs, gitgrammar_fetch_head,
		gitgrammar_revisions, gitgrammar_comments,    gitgrammar_refs,
		gitgrammar_author,    gitgrammar_todo,	      gitgrammar_objects,
		gitgrammar_number,
	};
	static gitgrammar *const shown[] = {
		gitgrammar_text,      gitgrammar_word,	      gitgrammar_head,
		gitgrammar_ref,	      gitgrammar_packed_refs, gitgrammar_fetch_head,
		gitgrammar_revisions, gitgrammar_branch,      gitgrammar_refs,
		gitgrammar_sign,      gitgrammar_objects,
	};
	const char *at = "refs/heads/a";
	char *text = calloc(1, size + 1);

	CHECK(text);
	if (size)
		memcpy(text, data, size);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		check_lines(lines[i], text, size, at);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (shown[i](text, size, at))
			check_shown(text, size);
	if (gitgrammar_is_refname(text, size))
		check_name(text, size);
	if (gitgrammar_sign(text, size, at))
		CHECK(!strpbrk(text, " '\"$`;/"));
	(void)gitgrammar_svn_metadata(text, size, at);
	if (strlen(text) == size)
		for (int place = GITNAME_GIT; place <= GITNAME_STRANGE; place++) {
			CHECK(gitname_of_file((enum gitname_place)place, text).how !=
				      GITNAME_IS_TEXT ||
			      gitname_of_file((enum gitname_place)place, text).form);
			CHECK(gitname_of_dir((enum gitname_place)place, text).how !=
			      GITNAME_IS_TEXT);
		}
	free(text);
	return 0;
}
