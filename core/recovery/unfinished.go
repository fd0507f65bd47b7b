package recovery

import (
	"context"
	"fmt"

	"gatewaytui/core/delivery"
	"gatewaytui/core/store"
)

// readUnfinished reads what earlier lives left in the inbox and in the outbox. A message whose turn had begun is not worked
// on again: it is unknown which of its steps were done (D19). Its sender gets a notice, and the model hears of it at the
// next message. A message that still waits is worked on once, by TakeUp.
func (r *Recovery) readUnfinished(ctx context.Context) error {
	if r.o.Health.Damage() != "" {
		return nil // it all stays where it is, for a life that can write what became of it
	}
	open, err := r.Store().OpenInbox(ctx)
	if err != nil {
		return fmt.Errorf("read the inbox: %w", err)
	}
	reported := 0
	for _, in := range open {
		text := "The gateway ended while it worked on this message. What was done so far is kept and nothing is repeated. Tell me how to continue."
		command, _, _ := delivery.ParseCommand(in.Text)
		switch {
		case in.State == store.InboxRunning && r.o.Conversations.IsWork(command):
			text = "The gateway ended while it worked on your /" + command + " task. Nothing is done again by itself: send it again if you still want it."
		case in.State == store.InboxRunning:
		case r.resumes:
			r.backlog = append(r.backlog, in)
			continue
		default:
			text = "The gateway was restarted before it came to this message, and was told to take up nothing. Send it again."
		}
		row := delivery.Answer(in, text)
		if err := r.Store().Answer(ctx, in.ID, &row); err != nil {
			return fmt.Errorf("report message %s: %w", in.ID, err)
		}
		reported++
	}
	unsent, err := r.Store().OpenOutbox(ctx)
	if err != nil {
		return fmt.Errorf("read the outbox: %w", err)
	}
	for _, row := range unsent {
		r.o.Outbox.Restore(row)
	}
	if len(open)+len(unsent) > 0 {
		r.log.Info("recovered pending work", "messages", len(r.backlog), "reported", reported, "unsent", len(unsent))
	}
	return nil
}

// TakeUp gives the messages that waited to their sessions, before any new one can come. It is called once.
func (r *Recovery) TakeUp(ctx context.Context) {
	for _, in := range r.backlog {
		r.o.Intake.Restore(ctx, in)
	}
	r.backlog = nil
}
