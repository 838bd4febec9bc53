#include "launcher/column.h"

static void text(struct column *c, char byte)
{
	if (byte == '\033') {
		c->state = COLUMN_ESCAPE;
	} else if (byte == '\n') {
		c->open = false;
		c->left = true; /* the terminal adds the carriage return, or it came before */
	} else if (byte == '\r') {
		c->left = true;
	} else if (byte == '\t' || (unsigned char)byte >= ' ') {
		c->open = byte != 0x7f;
		c->left = false;
	}
}

static void escape(struct column *c, char byte)
{
	switch (byte) {
	case '[':
		c->state = COLUMN_SEQUENCE;
		c->plain = true;
		break;
	case ']': /* OSC, DCS, SOS, PM, APC */
	case 'P':
	case 'X':
	case '^':
	case '_':
		c->state = COLUMN_STRING;
		break;
	default:
		if (byte < ' ' || byte > '/') /* those in between belong to the sequence */
			c->state = COLUMN_TEXT;
	}
}

/* A line that was cleared from its start on is as good as a new one, and so is the corner. */
static void sequence(struct column *c, char byte)
{
	if (byte >= '@' && byte <= '~') {
		if (byte == 'K' && c->left)
			c->open = false;
		if ((byte == 'H' || byte == 'f') && c->plain) {
			c->open = false;
			c->left = true;
		}
		c->state = COLUMN_TEXT;
	}
	c->plain = false;
}

void column_feed(struct column *c, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (c->state) {
		case COLUMN_TEXT:
			text(c, p[i]);
			break;
		case COLUMN_ESCAPE:
			escape(c, p[i]);
			break;
		case COLUMN_SEQUENCE:
			sequence(c, p[i]);
			break;
		case COLUMN_STRING:
			if (p[i] == '\033')
				c->state = COLUMN_STRING_END;
			else if (p[i] == '\a')
				c->state = COLUMN_TEXT;
			break;
		case COLUMN_STRING_END:
			c->state = COLUMN_TEXT;
			break;
		}
	}
}
