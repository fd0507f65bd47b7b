package session

import (
	"context"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"
	"unique"

	"gatewaytui/core/ops"
)

// Busy is what becomes of a message while a turn runs in its session (CV11).
type Busy string

// The modes. The empty one is BusyQueue.
const (
	// BusyQueue lets the message wait behind the turn.
	BusyQueue Busy = "queue"
	// BusySteer lets the running turn read the message after its next tool step. Without one it waits behind the turn.
	BusySteer Busy = "steer"
	// BusyInterrupt ends the running turn, and the message is next.
	BusyInterrupt Busy = "interrupt"
)

// Modes are the modes, in the order in which people should read them.
var Modes = []Busy{BusyQueue, BusySteer, BusyInterrupt}

// KnownBusy is the mode of this name; empty: there is none.
func KnownBusy(name string) Busy {
	if slices.Contains(Modes, Busy(name)) {
		return Busy(name)
	}
	return ""
}

// maxJoined bounds the text of messages that are worked on as one, in bytes. A single message may be longer.
const maxJoined = 256 << 10

// maxJoinedFiles is how many files they may have together: as many as are taken of one message.
const maxJoinedFiles = 10

// Receipt is the sign on a message that it waits. Its methods do not wait.
type Receipt interface {
	// Waits puts the sign on the message. failed is called, on another goroutine, if the platform did not take it.
	Waits(failed func())
	// Taken takes it away, because a turn works on the message or it has its answer.
	Taken()
}

// Long is from how many characters on a message may be a part of a longer one, which its platform cut.
const Long = 4000

// joins reports whether m, which waits right behind before, is worked on together with it. Of what an earlier life left that is only
// the rest of a long one: it is not known what was meant to be a turn of its own.
func (m *Message) joins(before *Message) bool {
	if m.User != before.User || m.Role != before.Role || m.Agent != before.Agent {
		return false
	}
	if before.Kept {
		return m.Kept && utf8.RuneCountInString(before.Text) >= Long
	}
	return before.Joins && m.Joins
}

// unit is how many of the oldest messages of a mailbox are worked on as one. There is at least one message.
func unit(queue []Message) int {
	n, size, files := 1, len(queue[0].Text), len(filesOf(queue[0]))
	for ; n < len(queue) && queue[n].joins(&queue[n-1]); n++ {
		size += len(queue[n].Text)
		files += len(filesOf(queue[n]))
		if size > maxJoined || files > maxJoinedFiles {
			break
		}
	}
	return n
}

// filesOf are the files of a message, each as it is kept. Files that cannot be read are none: who takes them says so.
func filesOf(m Message) (files []json.RawMessage) {
	if m.Files == "" || json.Unmarshal([]byte(m.Files), &files) != nil {
		return nil
	}
	return files
}

// joined is messages as one: the first, with the texts of all. It keeps the others.
func joined(all []Message) Message {
	m := all[0]
	if len(all) == 1 {
		return m
	}
	files := filesOf(m)
	for i, next := range all[1:] {
		between := "\n\n"
		if utf8.RuneCountInString(all[i].Text) >= Long { // its platform cut a text into two
			between = "\n"
		}
		m.Text += between + next.Text
		files = append(files, filesOf(next)...)
	}
	if len(files) > 0 {
		text, _ := json.Marshal(files) // they were read as JSON
		m.Files = string(text)
	}
	m.Joined = all[1:]
	return m
}

// gathers reports whether the last message of e may still go on. The caller holds mu.
func (e *entry) gathers() bool { return e.mail != nil && !e.mail.gather.IsZero() }

// gather notes in the mailbox of e, which has m as its last message, until when m waits for more of it. The caller holds mu.
func (e *entry) gather(m Message) {
	if e.mail.gather = (time.Time{}); m.Join > 0 {
		e.mail.gather = time.Now().Add(m.Join)
	}
}

// Gathered ends the wait of the last message of key for more of it, if its time is over. It returns the turn that begins, for the
// caller to run, unless hold keeps it waiting.
func (tb *Table) Gathered(ctx context.Context, key string, hold bool) *Turn {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil || !e.gathers() || time.Now().Before(e.mail.gather) {
		return nil
	}
	e.mail.gather = time.Time{}
	e.trim()
	tb.reposition(e)
	if hold {
		return nil
	}
	return tb.next(ctx)
}

// Steer takes the waiting messages that t is to read now out of the mailbox, in their order. They are answered with t from then
// on: see Others. A turn that was interrupted or released gets none. A message of another role than the turn's is not among
// them: it would have more tools than its sender may use, or fewer (TR1).
func (tb *Table) Steer(t *Turn) []Message {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[t.Session.Key]
	if e == nil || e.queued() == 0 || e.gathers() || !tb.owns(t) || t.now.Interrupt != nil || t.Message.Instant || t.Message.Compact {
		return nil
	}
	var taken []Message
	for at := 0; at < e.queued(); {
		if m := e.mail.queue[at]; m.Busy != BusySteer || m.Role != t.Message.Role {
			at++
			continue
		}
		taken = append(taken, tb.take(e, at, 1)...)
	}
	t.taken = append(t.taken, taken...)
	tb.reposition(e)
	return taken
}

// Others are the messages besides t.Message that have their answer with t: those that were joined with it, and those that it took.
func (tb *Table) Others(t *Turn) []Message {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return slices.Concat(t.Message.Joined, t.taken)
}

// Overtake interrupts the running turn of key with ErrOvertaken, because its sender's next message waits, and returns the turn.
// It is nil, and nothing is changed, for the turn of another sender, for a compaction, and for a turn that was interrupted before. So
// it is for one that still fetches its files, which would be lost, and for one whose answer is on its way.
func (tb *Table) Overtake(key, user string) *Turn {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	t := tb.turns[key]
	if t == nil || t.now.Interrupt != nil || t.now.Doing == ops.DoingReply || t.Message.Instant || t.Message.Compact || t.Message.User != user ||
		t.Message.Files != "" && !t.now.Attached ||
		slices.ContainsFunc(t.taken, func(m Message) bool { return m.User != user }) {
		return nil
	}
	t.interrupt(ErrOvertaken)
	return t
}

// SetBusy records the mode that the people of a session chose with m; empty: that of its chat. It makes the session where there is
// none, and returns it for the store.
func (tb *Table) SetBusy(key string, mode Busy, m Message) Session {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.made(key, m)
	n := e.names.Value()
	n.busy = mode
	e.names = unique.Make(n)
	return e.session()
}

// Busy is the mode that the people of a session chose; empty: none.
func (tb *Table) Busy(key string) Busy {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[key]; e != nil {
		return e.names.Value().busy
	}
	return ""
}
