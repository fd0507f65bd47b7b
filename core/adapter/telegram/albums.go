package telegram

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// albumLook is the time between two looks for further parts of an album. Telegram sends them as updates of their own, one
	// right after the other.
	albumLook = 500 * time.Millisecond
	// albumWait is the longest that an album waits for them.
	albumWait = time.Second
)

// albums are those whose parts may not all be here. It belongs to the poll loop. The zero value is ready.
//
// A held update is not handled, so that the cursor does not pass it: Telegram sends it again to a later connection or life if
// this one ends before the album was handed on.
type albums map[albumKey]waiting

type albumKey struct {
	from  address
	user  int64
	album string
}

// waiting is an album that waits since a time, with so many parts.
type waiting struct {
	since time.Time
	parts int
}

// join makes the parts of an album one update at the place of the first. Held are the ids of updates that wait: the parts of an
// album that may not be whole, and what follows it in its chat.
func (a *albums) join(all []update, now time.Time) (ready []update, held []int64) {
	at := map[albumKey]int{}
	var whole []update
	last := map[albumKey]int{} // the place of the sender's last update in that chat, under an empty album
	for _, u := range all {
		key := albumKey{u.event.from, u.event.user, u.event.album}
		if i, begun := at[key]; begun && key.album != "" && u.event.kind == readable {
			whole[i].add(u)
			continue
		}
		if u.event.kind == readable {
			at[key] = len(whole)
		}
		last[albumKey{from: key.from, user: key.user}] = len(whole)
		whole = append(whole, u)
	}
	still := albums{}
	blocked := map[address]bool{}
	for i, u := range whole {
		key := albumKey{u.event.from, u.event.user, u.event.album}
		if !blocked[key.from] && key.album != "" && u.event.kind == readable && last[albumKey{from: key.from, user: key.user}] == i {
			w, known := (*a)[key]
			grew := !known || len(u.ids) > w.parts
			if !known {
				w.since = now
			}
			if grew && now.Sub(w.since) < albumWait {
				w.parts = len(u.ids)
				still[key] = w
				blocked[key.from] = true
			}
		}
		if blocked[key.from] {
			held = append(held, u.ids...)
		} else {
			ready = append(ready, u)
		}
	}
	*a = still
	return ready, held
}

// add makes a further part of an album a part of u.
func (u *update) add(part update) {
	m, more := &u.event.message, part.event.message
	m.Text = strings.TrimSpace(m.Text + "\n" + strings.TrimPrefix(more.Text, u.event.forwarded))
	m.Files = append(m.Files, more.Files...)
	m.Mentioned = m.Mentioned || more.Mentioned
	u.ids = append(u.ids, part.ids...)
	// An album with another number of parts is another message: a late part would otherwise count as received.
	first, _, _ := strings.Cut(m.Dedupe, "+")
	m.Dedupe = fmt.Sprintf("%s+%d", first, len(u.ids)-1)
}

// joined is what a poll brought behind the updates that were held, of which Telegram sends those again that it has.
func joined(held, batch []json.RawMessage) []json.RawMessage {
	ids := map[int64]bool{}
	for _, raw := range batch {
		if id, err := updateID(raw); err == nil {
			ids[id] = true
		}
	}
	return append(slices.DeleteFunc(held, func(raw json.RawMessage) bool {
		id, err := updateID(raw)
		return err != nil || ids[id]
	}), batch...)
}
