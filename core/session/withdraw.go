package session

import "slices"

// Withdraw finds the message of key with an id. A waiting one leaves the mailbox and is returned. For a message in work
// it returns the turn's id, for Interrupt. It finds neither once the message has its answer.
func (tb *Table) Withdraw(key, id string) (waiting Message, turn string, found bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if t := tb.turns[key]; t != nil && t.Message.ID == id {
		return Message{}, t.ID, true
	}
	e := tb.sessions[key]
	if e == nil || e.mail == nil {
		return Message{}, "", false
	}
	at := slices.IndexFunc(e.mail.queue, func(m Message) bool { return m.ID == id })
	if at < 0 {
		return Message{}, "", false
	}
	return tb.take(e, at), "", true
}

// WithdrawWaiting removes the oldest message from the mailbox of key if no turn runs there, because the message waits for
// a slot or new turns are held. It reports false if there is none.
func (tb *Table) WithdrawWaiting(key string) (Message, bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil || e.mail == nil || !e.mail.inLine {
		return Message{}, false
	}
	return tb.take(e, 0), true
}

// take takes one message out of the mailbox of e. The caller holds mu.
func (tb *Table) take(e *entry, at int) Message {
	m := e.mail.queue[at]
	e.mail.queue = slices.Delete(e.mail.queue, at, at+1)
	tb.popped(m)
	e.trim()
	tb.settle(e)
	tb.dropUnsaved(e)
	return m
}
