package control

import (
	"bytes"
	"encoding/json"
	"sync"

	"gatewaytui/core/ops"
)

// rows decodes snapshots. A console asks for one four times a second, each has up to 1,000 sessions, and nearly all of
// them are as they were: a session whose JSON is the same as in the snapshot before is not decoded again. The zero value
// is ready, and safe for concurrent use.
type rows struct {
	mu    sync.Mutex
	kept  map[string]*keptRow // by the session's JSON
	round int
}

type keptRow struct {
	row   ops.Session
	round int // the last snapshot that had it
}

// snapshot decodes text as encoding/json does. It keeps nothing of text.
func (r *rows) snapshot(text []byte) (ops.Snapshot, error) {
	var s ops.Snapshot
	sessions, before, after, ok := splitSessions(text)
	if !ok {
		err := json.Unmarshal(text, &s)
		return s, err
	}
	rest := append(append(append(make([]byte, 0, len(before)+2+len(after)), before...), "[]"...), after...)
	if err := json.Unmarshal(rest, &s); err != nil {
		return s, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string]*keptRow{}
	}
	r.round++
	s.Sessions = make([]ops.Session, 0, len(sessions))
	for _, raw := range sessions {
		k := r.kept[string(raw)]
		if k == nil {
			k = &keptRow{}
			if err := json.Unmarshal(raw, &k.row); err != nil {
				return s, err
			}
			r.kept[string(raw)] = k
		}
		k.round = r.round
		s.Sessions = append(s.Sessions, k.row)
	}
	if len(r.kept) > len(sessions)+len(sessions)/4+64 {
		for raw, k := range r.kept {
			if k.round != r.round {
				delete(r.kept, raw)
			}
		}
	}
	return s, nil
}

// splitSessions finds the elements of the member "sessions" of the object in text, and what stands before and after their
// array. It does not check what it passes over; it reports false for a text that has no such array, or two.
func splitSessions(text []byte) (elements [][]byte, before, after []byte, ok bool) {
	c := cut{text: text}
	if !c.byte('{') {
		return nil, nil, nil, false
	}
	found := false
	for {
		name := c.value()
		if !c.byte(':') || len(name) < 2 || name[0] != '"' || bytes.IndexByte(name, '\\') >= 0 {
			return nil, nil, nil, false
		}
		if !bytes.EqualFold(name, []byte(`"sessions"`)) {
			c.value()
		} else {
			if found || string(name) != `"sessions"` {
				return nil, nil, nil, false
			}
			found, before = true, text[:c.at]
			if elements, ok = c.elements(); !ok {
				return nil, nil, nil, false
			}
			after = text[c.at:]
		}
		if c.byte('}') {
			return elements, before, after, found
		}
		if !c.byte(',') {
			return nil, nil, nil, false
		}
	}
}

// cut passes over compact JSON.
type cut struct {
	text []byte
	at   int
}

// byte passes over b if it comes next.
func (c *cut) byte(b byte) bool {
	if c.at < len(c.text) && c.text[c.at] == b {
		c.at++
		return true
	}
	return false
}

// elements cuts an array.
func (c *cut) elements() (all [][]byte, ok bool) {
	if !c.byte('[') {
		return nil, false
	}
	if c.byte(']') {
		return nil, true
	}
	for {
		v := c.value()
		if len(v) == 0 {
			return nil, false
		}
		all = append(all, v)
		if c.byte(']') {
			return all, true
		}
		if !c.byte(',') {
			return nil, false
		}
	}
}

// value passes over one value and returns it, empty if there is none.
func (c *cut) value() []byte {
	from, depth := c.at, 0
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case '"':
			for c.at++; c.at < len(c.text) && c.text[c.at] != '"'; c.at++ {
				if c.text[c.at] == '\\' {
					c.at++
				}
			}
			if c.at >= len(c.text) {
				c.at = len(c.text)
				return nil
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return c.text[from:c.at]
			}
			depth--
		case ',', ':':
			if depth == 0 {
				return c.text[from:c.at]
			}
		}
		c.at++
	}
	return nil
}
