package acpprofile

import "bytes"

// cursor goes through a checked document once. It stands before a value, which is
// read as one or entered with members. What nobody reads is skipped from quote to
// quote, so that a long text costs little however deep it lies.
type cursor struct {
	doc value
	at  int
}

// value reads the value that comes next.
func (c *cursor) value() value {
	from := c.at
	c.at = valueEnd(c.doc, from)
	return c.doc[from:c.at]
}

// isObject says whether the value that comes next is an object.
func (c *cursor) isObject() bool { return c.at < len(c.doc) && c.doc[c.at] == '{' }

// members yields the names of the object that comes next, as decoded, with the
// cursor before the value of each. Where no object comes next, it reads nothing.
func (c *cursor) members(yield func(name []byte) bool) {
	if !c.isObject() {
		return
	}
	start := c.at
	for c.at++; c.next('}'); {
		name := c.value()
		c.space()
		c.at++ // the colon
		c.space()
		before := c.at
		if !yield(name.text()) {
			c.at = valueEnd(c.doc, start) // wherever inside it stands
			return
		}
		if c.at == before {
			c.value()
		}
	}
}

// next goes to the next entry of an object or array. Where there is none, it
// leaves the container and says so.
func (c *cursor) next(end byte) bool {
	c.space()
	switch c.doc[c.at] {
	case end:
		c.at++
		return false
	case ',':
		c.at++
		c.space()
	}
	return true
}

func (c *cursor) space() {
	for c.doc[c.at] == ' ' || c.doc[c.at] == '\n' || c.doc[c.at] == '\r' || c.doc[c.at] == '\t' {
		c.at++
	}
}

// valueEnd is the position behind the value that begins at i.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		for depth := 0; ; {
			switch b[i] {
			case '"':
				i = stringEnd(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(b) { // a number or a word
		switch b[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

// stringEnd is the position behind the string that begins at i: behind the first
// quote that an even number of backslashes precedes.
func stringEnd(b []byte, i int) int {
	for start := i + 1; ; {
		i += 1 + bytes.IndexByte(b[i+1:], '"')
		escape := i
		for escape > start && b[escape-1] == '\\' {
			escape--
		}
		if (i-escape)%2 == 0 {
			return i + 1
		}
	}
}
