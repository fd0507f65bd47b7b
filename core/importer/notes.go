package importer

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/memory"
	"gatewaytui/core/store"
	"gatewaytui/core/text"
)

const (
	// maxFileNotes bounds the notes of one file of memories.
	maxFileNotes = 500
	// betweenMemories is the line between two memories of Hermes.
	betweenMemories = "\n§\n"
)

// remembered is a file of memories. Each of its texts becomes a note.
type remembered struct {
	item  int
	texts []string
}

// memories takes a file of memories, or all those in a folder. They belong to one person there: here they are the notes of the first
// owner, or of the command line where there is none.
func (p *Plan) memories(from string) {
	if fi, err := p.root.Stat(from); err != nil {
		return
	} else if fi.IsDir() {
		for _, e := range p.entries(from) {
			if ext := path.Ext(e.Name()); !e.IsDir() && (ext == ".md" || ext == ".txt") {
				p.memories(path.Join(from, e.Name()))
			}
		}
		return
	}
	data, found := p.read(Memory, from, maxDocument)
	if !found {
		return
	}
	texts := cutMemories(string(data))
	if len(texts) == 0 {
		p.leave(Memory, from, "is empty")
		return
	}
	if at := len(p.Items); at < maxItems {
		p.notes = append(p.notes, remembered{at, texts})
		p.add(Memory, from, "the notes of "+p.keeper().Name(), Taken, text.Count(len(texts), "note"))
	}
}

// keeper owns the notes.
func (p *Plan) keeper() memory.Owner {
	owners := p.into.Now.Access.Owners
	for _, s := range p.settings {
		if list, is := s.Value.([]string); is && slices.Equal(s.Path, []string{"access", "owners"}) {
			owners = list
		}
	}
	if len(owners) == 0 {
		return memory.Operator
	}
	return memory.PersonOwner(owners[0])
}

// cutMemories cuts a file into texts that can be notes: what the file separates, else its paragraphs and the items of its lists, with
// the heading above them.
func cutMemories(data string) (texts []string) {
	add := func(parts ...string) {
		words := strings.Fields(strings.Join(parts, " "))
		for len(words) > 0 && len(texts) < maxFileNotes {
			n, length := 0, 0
			for n < len(words) && (n == 0 || length+len(words[n]) < memory.MaxText) {
				length += len(words[n]) + 1
				n++
			}
			texts, words = append(texts, strings.Join(words[:n], " ")), words[n:]
		}
	}
	data = strings.ReplaceAll(strings.ToValidUTF8(data, "\uFFFD"), "\r\n", "\n")
	if strings.Contains(data, betweenMemories) {
		for one := range strings.SplitSeq(data, betweenMemories) {
			add(one)
		}
		return texts
	}
	heading, open := "", []string(nil)
	end := func() {
		if len(open) > 0 {
			add(append([]string{heading}, open...)...)
		}
		open = nil
	}
	for line := range strings.Lines(data) {
		line = strings.TrimSpace(line)
		item := strings.TrimLeft(line, "-*+")
		switch {
		case line == "":
			end()
		case strings.HasPrefix(line, "#"):
			end()
			heading = strings.TrimSpace(strings.TrimLeft(line, "#")) + ":"
		case item != line && strings.HasPrefix(item, " "):
			end()
			open = []string{item}
		default:
			open = append(open, line)
		}
	}
	end()
	return texts
}

// compareNotes leaves out what is a note already.
func (p *Plan) compareNotes(ctx context.Context, s *store.Store) error {
	owner, kept := p.keeper(), p.notes[:0]
	for _, n := range p.notes {
		var left []string
		for _, one := range n.texts {
			row, _ := memory.Row(owner, one, memory.ByImport)
			there, err := s.HasNote(ctx, row.Owner, row.Text)
			if err != nil {
				return err
			}
			if !there {
				left = append(left, one)
			}
		}
		if len(left) == 0 {
			p.Items[n.item].State, p.Items[n.item].Why = There, ""
			continue
		}
		n.texts = left
		p.Items[n.item].Why = text.Count(len(left), "note")
		kept = append(kept, n)
	}
	p.notes = kept
	return nil
}

// keepNotes writes the notes.
func (p *Plan) keepNotes(ctx context.Context, s *store.Store, now time.Time) error {
	for _, n := range p.notes {
		for _, one := range n.texts {
			row, words := memory.Row(p.keeper(), one, memory.ByImport)
			row.At = now
			if _, err := s.PutNote(ctx, row, words, memory.MaxNotes); err != nil {
				return fmt.Errorf("write the notes of %s: %w", p.Items[n.item].From, err)
			}
		}
	}
	return nil
}
