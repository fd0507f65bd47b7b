package simulation

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// step is one random call of the store.
func (w *world) step() {
	steps := []func(){
		w.accept, w.accept, w.accept, w.again, w.drop, w.beginTurn, w.beginTurn, w.beginTurn, w.appendTo, w.appendTo,
		w.endTurn, w.endTurn, w.notice, w.delivered, w.delivered, w.reset, w.forget, w.checkpoint, w.read,
	}
	steps[w.rng.IntN(len(steps))]()
}

func bare(key string) string {
	_, id, _ := strings.Cut(key, " ")
	return id
}

// text is a message's content: its id, and now and then more than a page.
func (w *world) text(id string) string {
	if w.rng.IntN(8) == 0 {
		return id + strings.Repeat(" and more", 1+w.rng.IntN(4000))
	}
	return id
}

func (w *world) accept() {
	id, name := w.id("m"), w.id("d")
	_, fresh, err := w.store.PutInbox(context.Background(), store.Inbox{
		ID: id, Dedupe: name, Session: "k", Adapter: "a", Target: "t", User: "u", Text: w.text(id), At: noon, State: store.InboxWaiting,
	})
	if err == nil && !fresh {
		w.fatal("message %s is new and was taken for an old one", id)
	}
	w.call("accept "+id, err, rows{"inbox " + id: "waiting", "dedupe " + name: once})
}

// again brings a message that the platform sends a second time.
func (w *world) again() {
	key, ok := oneOf(w, w.keys("dedupe", once))
	if !ok {
		return
	}
	id := w.id("m")
	_, fresh, err := w.store.PutInbox(context.Background(), store.Inbox{
		ID: id, Dedupe: bare(key), Session: "k", Adapter: "a", Target: "t", User: "u", Text: id, At: noon, State: store.InboxWaiting,
	})
	if err == nil && fresh {
		w.fatal("%s came a second time and was taken for a new message", key)
	}
	w.call("again "+bare(key), err, rows{})
}

func (w *world) drop() {
	key, ok := oneOf(w, w.keys("inbox", "waiting"))
	if !ok {
		return
	}
	// Ids are given in pairs: the message's, then its name for ever.
	var n int
	if _, err := fmt.Sscanf(bare(key), "m%d", &n); err != nil {
		w.fatal("%v", err)
	}
	w.call("drop "+bare(key), w.store.DropInbox(context.Background(), bare(key)), rows{key: "", fmt.Sprintf("dedupe d%d", n+1): ""})
}

// sessionOf is the session of a turn or a message, by the name that it was given: turn of session s1 is "s1/t2".
func sessionOf(key string) string {
	id, _, _ := strings.Cut(bare(key), "/")
	return id
}

func session(id string) store.Session {
	return store.Session{
		ID: id, Key: "key of " + id, Platform: "cli", User: "u", Target: "t", State: ops.SessionIdle, CreatedAt: noon, LastActivityAt: noon,
	}
}

func (w *world) beginTurn() {
	waiting, ok := oneOf(w, w.keys("inbox", "waiting"))
	if !ok {
		return
	}
	id := w.id("s")
	if old, ok := oneOf(w, w.keys("session", "current")); ok && w.rng.IntN(3) > 0 {
		id = bare(old)
	}
	turn := id + "/" + w.id("t")
	change := rows{"session " + id: "current", "turn " + turn: "running", "inbox " + waiting[len("inbox "):]: "running", "message " + turn + " asked": once}
	for _, running := range w.of("turn", id) {
		if w.model.frozen(running) {
			return
		}
		if w.model.sure[running] == "running" {
			change[running] = "interrupted" // superseded
		}
	}
	err := w.store.BeginTurn(context.Background(), session(id),
		store.Turn{ID: turn, SessionID: id, Life: "life", StartedAt: noon, State: store.TurnRunning, Message: bare(waiting)},
		store.Message{Role: "user", Content: turn + " asked", At: noon})
	w.call("begin "+turn, err, change)
}

// of are the keys of a table that belong to a session, those of failed calls included.
func (w *world) of(table, session string) []string {
	all := slices.Collect(maps.Keys(w.model.sure))
	for _, g := range w.model.maybe {
		all = slices.AppendSeq(all, maps.Keys(g.after))
	}
	all = slices.DeleteFunc(all, func(key string) bool {
		return !strings.HasPrefix(key, table+" ") || sessionOf(key) != session
	})
	slices.Sort(all)
	return slices.Compact(all)
}

// running is a turn that runs, in a session that no failed call has touched.
func (w *world) running() (turn string, ok bool) {
	key, ok := oneOf(w, w.keys("turn", "running"))
	if !ok || w.model.frozen("session "+sessionOf(key)) {
		return "", false
	}
	return bare(key), true
}

func (w *world) appendTo() {
	turn, ok := w.running()
	if !ok {
		return
	}
	text := w.text(turn + " " + w.id("says"))
	err := w.store.AppendMessages(context.Background(), sessionOf("turn "+turn), turn, []store.Message{{Role: "assistant", Content: text, At: noon}}, nil)
	w.call("append to "+turn, err, rows{"message " + text: once})
}

func (w *world) endTurn() {
	turn, ok := w.running()
	if !ok {
		return
	}
	id, reply := sessionOf("turn "+turn), w.id("o")
	change := rows{"turn " + turn: "done", "message " + turn + " answered": once, "outbox " + reply: "waiting"}
	ended := store.Turn{ID: turn, SessionID: id, EndedAt: noon, State: store.TurnDone}
	ended.Reply = &store.Outbox{ID: reply, Session: "k", Adapter: "a", Target: "t", Text: w.text(reply), At: noon}
	if asked, ok := oneOf(w, w.keys("inbox", "running")); ok {
		ended.Message, change[asked] = bare(asked), "answered"
	} else {
		ended.Reply = nil
		delete(change, "outbox "+reply)
	}
	err := w.store.EndTurn(context.Background(), session(id), ended, []store.Message{{Role: "assistant", Content: turn + " answered", At: noon}})
	w.call("end "+turn, err, change)
}

func (w *world) notice() {
	id := w.id("o")
	err := w.store.PutOutbox(context.Background(), store.Outbox{ID: id, Session: "k", Adapter: "a", Target: "t", Text: w.text(id), At: noon})
	w.call("notice "+id, err, rows{"outbox " + id: "waiting"})
}

func (w *world) delivered() {
	key, ok := oneOf(w, w.keys("outbox", "waiting"))
	if !ok {
		return
	}
	refused, state := "", "sent"
	if w.rng.IntN(4) == 0 {
		refused, state = "blocked", "refused"
	}
	w.call(state+" "+bare(key), w.store.EndOutbox(context.Background(), bare(key), refused, noon), rows{key: state})
}

// whole are the rows of a session with its turns, and its messages if wanted; false if a failed call has touched one.
func (w *world) whole(id string, tables ...string) (keys []string, ok bool) {
	for _, table := range tables {
		keys = append(keys, w.of(table, id)...)
	}
	return keys, !slices.ContainsFunc(keys, w.model.frozen)
}

func (w *world) reset() {
	key, ok := oneOf(w, w.keys("session", "current"))
	if !ok {
		return
	}
	turns, ok := w.whole(bare(key), "turn")
	if !ok {
		return
	}
	change := rows{key: "ended"}
	for _, turn := range turns {
		if w.model.sure[turn] == "running" {
			change[turn] = "interrupted"
		}
	}
	w.call("reset "+bare(key), w.store.EndSession(context.Background(), bare(key), noon, "reset"), change)
}

func (w *world) forget() {
	key, ok := oneOf(w, w.keys("session", "ended"))
	if !ok {
		return
	}
	keys, ok := w.whole(bare(key), "turn", "message")
	if !ok {
		return
	}
	change := rows{key: ""}
	for _, k := range keys {
		change[k] = ""
	}
	w.call("forget "+bare(key), w.store.ForgetSessions(context.Background(), bare(key)), change)
}

// checkpoint copies the -wal into the database, as SQLite does by itself once the -wal is long. Its failure loses nothing.
func (w *world) checkpoint() {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "gateway.db"))
	if err != nil {
		w.fatal("%v", err)
	}
	defer db.Close()
	mode := []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"}[w.rng.IntN(4)]
	_, err = db.Exec("PRAGMA wal_checkpoint(" + mode + ")")
	w.note("checkpoint ", mode, ": ", err)
}

// read reads while the disk may fail: what is read is true, or there is an error.
func (w *world) read() {
	open, err := w.store.OpenInbox(context.Background())
	w.note("read: ", len(open), " ", err)
	if err != nil {
		return
	}
	for _, v := range open {
		if key := "inbox " + v.ID; !w.model.frozen(key) && w.model.sure[key] != string(v.State) {
			w.fatal("%s is read as %q and is %q", key, v.State, w.model.sure[key])
		}
	}
}
