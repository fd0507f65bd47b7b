package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/views/lines"
)

func transcriptVerb(p *program) *cobra.Command {
	var follow, full bool
	var after string
	c := p.verb(&cobra.Command{
		Use: "transcript KEY", Short: "print a session's conversation; KEY may be the id of an earlier one",
		Example: "  gatewaytui transcript telegram:dm:4711\n  gatewaytui transcript cli:local -f\n  gatewaytui transcript cli:local --json | jq '.items[].text'",
		Args:    arguments("KEY"),
	})
	c.RunE = p.asking(func(ctx context.Context, g *remote.Gateway, args []string) error {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		if follow {
			return p.followTranscript(ctx, g, args[0], after, full)
		}
		return p.transcript(ctx, g, args[0], after, full)
	})
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is said from now on, until interrupted; with --json one message a line")
	c.Flags().BoolVar(&full, "full", false, "show the results of tools in full")
	c.Flags().StringVar(&after, "after", "", "begin behind the message with this `ID`")
	return c
}

// eachMessage calls each for the messages of a conversation behind one, page by page. A conversation that ends meanwhile is read to
// its end.
func eachMessage(ctx context.Context, g *remote.Gateway, session, after string, each func(ops.Message) error) error {
	for {
		page, err := g.Transcript(ctx, session, ops.MessageQuery{After: after, Limit: ops.MaxLimit})
		if err != nil {
			return err
		}
		for _, m := range page.Items {
			if err := each(m); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		after = page.Next
	}
}

// conversation is the row of the session that a key names. Of an id of an earlier conversation it has the id alone.
func conversation(ctx context.Context, g *remote.Gateway, key string) (ops.Session, error) {
	page, err := g.Sessions(ctx, ops.Query{Key: key})
	for _, s := range page.Items {
		if s.Key == key {
			return s, nil
		}
	}
	return ops.Session{Key: key, ID: key}, err
}

// transcript prints a conversation.
func (p *program) transcript(ctx context.Context, g *remote.Gateway, key, after string, full bool) error {
	of, err := conversation(ctx, g, key)
	if err != nil {
		return err
	}
	if !p.asJSON() {
		return eachMessage(ctx, g, of.ID, after, func(m ops.Message) error {
			p.lines().Message(m, full)
			return nil
		})
	}
	// The list is written as it is read: a long conversation is never in memory as a whole.
	out := bufio.NewWriter(p.out)
	between := `{"items":[`
	err = eachMessage(ctx, g, of.ID, after, func(m ops.Message) error {
		if _, err := out.WriteString(between); err != nil {
			return fmt.Errorf("write the transcript: %w", err)
		}
		between = ","
		return lines.JSON(withoutBreak{out}, m)
	})
	if err != nil && between != "," {
		return err // nothing was written
	}
	if between != "," {
		_, _ = out.WriteString(between) // Flush returns its error
	}
	_, _ = out.WriteString("],\"next\":\"\"}\n")
	if flushed := out.Flush(); err == nil && flushed != nil {
		err = fmt.Errorf("write the transcript: %w", flushed)
	}
	return err
}

// withoutBreak drops the line break that ends each write.
type withoutBreak struct{ w io.Writer }

func (o withoutBreak) Write(b []byte) (int, error) {
	n := len(b)
	if n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	if _, err := o.w.Write(b); err != nil {
		return 0, err
	}
	return n, nil
}

// followTranscript prints a conversation and what comes later, until ctx ends or the gateway does.
func (p *program) followTranscript(ctx context.Context, g *remote.Gateway, key, after string, full bool) error {
	for m, err := range g.FollowTranscript(ctx, key, after) {
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			if _, now := g.Recheck(ctx, err); remote.Gone(now) {
				p.note("the gateway is gone")
				return nil
			}
			return err
		case p.asJSON():
			p.writeJSON(p.out, m)
		default:
			p.lines().Message(m, full)
		}
	}
	return nil
}

// The formats of an export.
const (
	formatMarkdown = "md"
	formatJSONL    = "jsonl"
)

func exportVerb(p *program) *cobra.Command {
	format := formatMarkdown
	c := p.verb(&cobra.Command{
		Use: "export KEY", Short: "print a session's conversation as a document; KEY may be the id of an earlier one",
		Example: "  gatewaytui export telegram:dm:4711 > talk.md\n  gatewaytui export cli:local --format jsonl > talk.jsonl",
		Args:    arguments("KEY"),
	})
	c.RunE = p.asking(func(ctx context.Context, g *remote.Gateway, args []string) error {
		of, err := conversation(ctx, g, args[0])
		if err != nil {
			return err
		}
		out := bufio.NewWriter(p.out)
		told := func() {}
		if p.columns == 0 { // a terminal shows the document itself
			told = p.progressOf("export", "message", 0)
		}
		if p.asJSON() || format == formatJSONL {
			err = exportJSONL(ctx, g, of, out, told)
		} else {
			err = exportMarkdown(ctx, g, of, out, told)
		}
		if flushed := out.Flush(); err == nil && flushed != nil {
			err = fmt.Errorf("write the export: %w", flushed)
		}
		return err
	})
	c.Flags().Var(choice{&format, []string{formatMarkdown, formatJSONL}}, "format", "md is Markdown; jsonl is one JSON object a message, exact, as --json")
	return c
}

// exportJSONL writes one message a line, exactly as it is.
func exportJSONL(ctx context.Context, g *remote.Gateway, of ops.Session, out io.Writer, told func()) error {
	return eachMessage(ctx, g, of.ID, "", func(m ops.Message) error {
		told()
		return lines.JSON(out, m)
	})
}

func exportMarkdown(ctx context.Context, g *remote.Gateway, of ops.Session, out io.Writer, told func()) error {
	d, begun := &lines.Markdown{W: out}, false
	begin := func() {
		if !begun {
			d.Begin(of)
		}
		begun = true
	}
	err := eachMessage(ctx, g, of.ID, "", func(m ops.Message) error {
		begin()
		told()
		d.Message(m)
		return d.Err
	})
	if err == nil {
		begin()
		err = d.Err
	}
	return err
}
