package gateway

import (
	"context"
	"errors"

	"gatewaytui/core/access"
	"gatewaytui/core/memory"
	"gatewaytui/core/operator"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// newMemory is the notes that outlive conversations, as the config says.
func (g *Gateway) newMemory() *memory.Memory {
	return memory.New(memory.Options{
		Log: g.opts.Log, Tasks: g.background, Life: g.opts.Life,
		Extractor: g.reviews,
		Role: func(platform, id string) ops.Role {
			return g.trust.people.Role(access.Person{Platform: platform, ID: id})
		},
	}, g.config().Memory.Provider)
}

// notesOf are the notes of a memory for operators.
type notesOf struct{ memory *memory.Memory }

var _ operator.Notes = notesOf{}

// Notes implements operator.Notes.
func (n notesOf) Notes(ctx context.Context) ([]ops.Note, error) {
	notes, err := n.memory.All(ctx)
	rows := make([]ops.Note, 0, len(notes))
	for _, v := range notes {
		rows = append(rows, ops.Note{ID: v.ID, Scope: v.Owner.Scope(), Owner: v.Owner.Name(), Text: v.Text, By: v.By, At: ops.At(v.At)})
	}
	return rows, err
}

// Forget implements operator.Notes.
func (n notesOf) Forget(ctx context.Context, id string) error {
	err := n.memory.DeleteAny(ctx, id)
	if errors.Is(err, memory.ErrNoNote) {
		return &ops.Error{Code: ops.CodeNotFound, Message: "there is no note " + term.Quote(id), Hint: "`gatewaytui memory` lists them"}
	}
	return err
}
