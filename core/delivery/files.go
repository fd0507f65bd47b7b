package delivery

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"gatewaytui/core/adapter"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// Files has the files that go to chats. *media.Media is one.
type Files interface {
	// Outgoing is the file that a row of the outbox is. It has its name also with an error, if that is known.
	Outgoing(file string) (adapter.OutgoingFile, error)
}

const (
	// fileTimeout bounds one attempt to send a file, the wait for its turn included.
	fileTimeout = 2*time.Minute + SendTimeout
	// maxFileTries is how often a file is tried whose upload broke off: behind it the rest of its chat waits.
	maxFileTries = 5
	// maxUploads is how many files of one platform are in memory at once: one that hangs delays no other.
	maxUploads = 4
)

// PostFile writes a message that is a file into the journal, behind what its chat gets already, and begins to send it. It does
// not wait for that. An error means that nothing will be sent.
func (o *Outbox) PostFile(ctx context.Context, key, target, caption, file string) error {
	row := store.Outbox{
		ID: o.o.NewID(), Session: key, Adapter: session.Platform(key), Target: target, Text: caption, File: file, At: time.Now(), Tried: true,
	}
	ctx, cancel := o.journal.Patient(ctx)
	defer cancel()
	if err := o.journal.PutOutbox(ctx, row); err != nil {
		return NotSaved(o.o.Log, key, "the file for the chat", err)
	}
	o.enqueue(row)
	return nil
}

// WaitingFiles are the files that still have to be sent, as PostFile got them.
func (o *Outbox) WaitingFiles() (files []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.chats {
		for i := range c.queue {
			if file := c.queue[i].File; file != "" {
				files = append(files, file)
			}
		}
	}
	return files
}

// uploadsOf bounds the files of a platform that are in memory.
func (o *Outbox) uploadsOf(name string) *semaphore.Weighted {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.uploads[name] == nil {
		o.uploads[name] = semaphore.NewWeighted(maxUploads)
	}
	return o.uploads[name]
}

// attemptFile is attempt for a message that is a file. One that broke off too often is refused.
func (o *Outbox) attemptFile(ctx context.Context, chat string, d *delivery) (sent adapter.Sent, err error) {
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	room := o.uploadsOf(d.Adapter)
	if err := room.Acquire(ctx, 1); err != nil {
		return sent, &adapter.UnsentError{Err: fmt.Errorf("wait behind other files: %w", err)}
	}
	defer room.Release(1)
	f, err := o.o.Files.Outgoing(d.File)
	if d.name = term.Clean(f.Name, 80); err != nil {
		return sent, &adapter.RefusedError{Why: err.Error()}
	}
	f.Caption, f.Key = d.Text, d.ID
	if d.Tried { // within minutes an idempotent platform shows nothing new
		f.Caption = adapter.RepeatMark + "\n" + d.Text
	}
	o.begins(ctx, d)
	sent, err = o.sender.SendFile(ctx, d.Adapter, d.Target, f)
	o.spend(chat, 1)
	o.o.Meter.Sent(d.Session, err)
	if err != nil && adapter.MayHaveArrived(err) {
		if d.tries++; d.tries == maxFileTries {
			return sent, &adapter.RefusedError{Why: fmt.Sprintf("it broke off %d times, at last: %s", d.tries, term.Clean(err.Error(), 200))}
		}
	}
	return sent, err
}

// refused records that a platform will never take a message. Of a file its chat learns why.
func (o *Outbox) refused(ctx context.Context, d delivery, err *adapter.RefusedError) {
	o.o.Log.Warn("reply refused by its platform", "session", d.Session, "adapter", d.Adapter, "error", term.Clean(err.Error(), 300))
	o.end(ctx, d.Outbox, term.Clean(err.Why, 300))
	o.lost(d.Session, err.Why)
	if d.File == "" {
		return
	}
	name := d.name
	if name == "" {
		name = "for this chat"
	}
	o.Post(d.Session, d.Target, fmt.Sprintf("The file %s could not be sent: %s.", name, term.Clean(err.Why, 200)))
}

// begins records an attempt before it begins, and counts one that may repeat what has arrived.
func (o *Outbox) begins(ctx context.Context, d *delivery) {
	row := d.Outbox
	if !d.marked {
		row.Tried = true
		o.note(ctx, row)
		d.marked = true
	}
	if d.Tried && !o.sender.Can(d.Adapter, adapter.AbilityIdempotent) {
		o.repeated.Add(1)
		o.o.Log.Warn("message sent again though it may have arrived", "session", d.Session, "adapter", d.Adapter, "message", d.ID)
	}
}
