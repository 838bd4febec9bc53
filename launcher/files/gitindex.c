/*
 * Theory of operation
 *
 * The names must be the ones that git sees, so what could be read in two ways is refused. There are two
 * ways where an index is large: its last extension (EOIE) says where the entries end, behind which
 * another (IEOT) says where blocks of them begin, and git has threads read those. Both must say what was
 * read from the front; and no name of a block may build upon one of the block before (version 4).
 */
#include "launcher/files/gitindex.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/reader.h"
#include "base/xalloc.h"

#define SIGNATURE     0x44495243U /* "DIRC" */
#define SIGN_EOIE     0x454f4945U
#define SIGN_IEOT     0x49454f54U
#define HEADER_SIZE   12
#define STAT_SIZE     40 /* of an entry, before the name of its object */
#define MODE_AT	      24 /* in that */
#define MODE_TYPE     0170000
#define MODE_LINK     0160000 /* a repository's commit */
#define MODE_DIR      0040000 /* a directory whose names are left out; its own has a final slash */
#define FLAG_EXTENDED 0x4000  /* two bytes more */
#define FLAG_LENGTH   0x0fff  /* this many, or more */
#define NAME_ROOM     (64 * 1024) /* git itself has no bound, the kernel has PATH_MAX */

/**
 * struct entries - where we are
 * @base, @size: all of the file but the checksum at its end
 * @left: entries
 * @blocks: what is left of the table of blocks; none is known if it is empty
 * @in_block: entries that are left of the block
 * @at: the name of the last entry, @len its length, @link: whether it is, or @all are, a repository
 * @object: its object, @tree: that if it is a directory
 */
struct entries {
	const uint8_t *base;
	size_t size;
	struct reader r;
	uint32_t version, left;
	size_t hash;
	struct reader blocks;
	uint32_t in_block;
	bool has_blocks;
	char *at;
	size_t len;
	const uint8_t *object, *tree;
	bool link, all;
};

static size_t position(const struct entries *e)
{
	return e->size - e->r.n;
}

static bool start(struct entries *e)
{
	uint32_t signature;

	e->r = reader_init(e->base, e->size);
	e->len = 0;
	return reader_u32be(&e->r, &signature) && signature == SIGNATURE &&
	       reader_u32be(&e->r, &e->version) && e->version >= 2 && e->version <= 4 &&
	       reader_u32be(&e->r, &e->left);
}

/* git's own: seven bits a byte, and one added for each byte that follows. */
static bool take_varint(struct reader *r, size_t *out)
{
	uint8_t byte;
	size_t v;

	if (!reader_u8(r, &byte))
		return false;
	for (v = byte & 127; byte & 128; v = ((v + 1) << 7) + (byte & 127))
		if (v > NAME_ROOM || !reader_u8(r, &byte))
			return false;
	*out = v;
	return true;
}

/* How much of the last name is kept. A block's first entry keeps nothing. */
static bool take_kept(struct entries *e, bool first, size_t *kept)
{
	size_t strip;

	*kept = 0;
	if (e->version < 4)
		return true;
	if (!take_varint(&e->r, &strip) || strip > e->len)
		return false;
	*kept = e->len - strip;
	return !first || *kept == 0;
}

static bool take_padding(struct entries *e, size_t begin)
{
	size_t used = position(e) - begin; /* the zero byte behind the name is the first of it */
	const uint8_t *p;

	return e->version == 4 || reader_take(&e->r, (8 - used % 8) % 8, &p);
}

/* git would make other names of a directory's without a slash. */
static bool take_mode(struct entries *e, uint32_t mode)
{
	bool slash = e->len > 0 && e->at[e->len - 1] == '/';

	e->link = e->all || (mode & MODE_TYPE) == MODE_LINK;
	e->tree = (mode & MODE_TYPE) == MODE_DIR || (e->all && slash) ? e->object : NULL;
	return !e->tree || slash;
}

static bool take_entry(struct entries *e, bool first)
{
	size_t begin = position(e), kept, n;
	const uint8_t *p;
	uint16_t flags, more;
	uint32_t mode;

	if (!reader_take(&e->r, MODE_AT, &p) || !reader_u32be(&e->r, &mode) ||
	    !reader_take(&e->r, STAT_SIZE - MODE_AT - sizeof(mode), &p) ||
	    !reader_take(&e->r, e->hash, &e->object) || !reader_u16be(&e->r, &flags) ||
	    (flags & FLAG_EXTENDED && !reader_u16be(&e->r, &more)) || !take_kept(e, first, &kept) ||
	    !reader_until(&e->r, 0, &p, &n) || kept + n >= NAME_ROOM)
		return false;
	if ((flags & FLAG_LENGTH) != (kept + n < FLAG_LENGTH ? kept + n : FLAG_LENGTH))
		return false;
	memcpy(e->at + kept, p, n);
	e->len = kept + n;
	e->at[e->len] = '\0';
	return take_mode(e, mode) && take_padding(e, begin);
}

/* Whether the next entry is where its block, if there are blocks, should have it. */
static bool enter_block(struct entries *e, bool *first)
{
	uint32_t offset;

	*first = e->has_blocks && e->in_block == 0;
	if (*first &&
	    (!reader_u32be(&e->blocks, &offset) || !reader_u32be(&e->blocks, &e->in_block) ||
	     offset != position(e) || e->in_block == 0))
		return false;
	e->in_block -= e->has_blocks;
	return true;
}

/* "" stands for a name in the file that a split index refers to. A final slash: a directory. */
static bool is_elsewhere(const char *name)
{
	for (const char *p = name; *p;) {
		size_t n = strcspn(p, "/");

		if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.') ||
		    (n == 4 && strncasecmp(p, ".git", 4) == 0))
			return true;
		p += n + (p[n] == '/');
	}
	return false;
}

static enum gitindex read_all(struct entries *e, gitindex_use *use, void *arg)
{
	bool first;

	if (!start(e))
		return GITINDEX_BAD;
	for (; e->left > 0; e->left--) {
		if (!enter_block(e, &first) || !take_entry(e, first))
			return GITINDEX_BAD;
		if (is_elsewhere(e->at))
			return GITINDEX_ELSEWHERE;
		if ((e->link || e->tree) && use)
			use(arg, e->at, e->tree);
	}
	return e->in_block || e->blocks.n ? GITINDEX_BAD : GITINDEX_OK;
}

/* Behind the entries: extensions. */
static bool find_blocks(struct entries *e)
{
	struct reader r = e->r;
	uint32_t signature, n, version;
	const uint8_t *p;

	while (reader_u32be(&r, &signature) && reader_u32be(&r, &n) && reader_take(&r, n, &p)) {
		if (signature != SIGN_IEOT)
			continue;
		e->blocks = reader_init(p, n);
		e->has_blocks = true;
		return reader_u32be(&e->blocks, &version);
	}
	return true;
}

/* What says where the entries end says it right. Some versions of git keep to 20 bytes in it. */
static bool is_end(const struct entries *e, size_t end, size_t hash)
{
	size_t n = 12 + hash;
	struct reader r;
	uint32_t signature, size, offset;

	if (e->size < HEADER_SIZE + n)
		return true;
	r = reader_init(e->base + e->size - n, n);
	return !reader_u32be(&r, &signature) || signature != SIGN_EOIE ||
	       !reader_u32be(&r, &size) || !reader_u32be(&r, &offset) || offset == end;
}

enum gitindex gitindex_check(const void *p, size_t n, size_t hash, bool all, gitindex_use *use,
			     void *arg, char **name)
{
	CLEANUP_FREE char *at = xcalloc(NAME_ROOM, 1);
	struct entries e = {
		.base = p, .size = n < hash ? 0 : n - hash, .hash = hash, .all = all, .at = at
	};
	enum gitindex found = read_all(&e, use, arg);

	*name = NULL;
	if (found == GITINDEX_OK && (!is_end(&e, position(&e), hash) ||
				     !is_end(&e, position(&e), GITINDEX_SHA1) || !find_blocks(&e)))
		found = GITINDEX_BAD;
	if (found == GITINDEX_OK && e.has_blocks)
		found = read_all(&e, NULL, NULL);
	if (found == GITINDEX_ELSEWHERE)
		*name = xstrdup(at);
	return found;
}
