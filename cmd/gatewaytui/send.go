package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"gatewaytui/core/control"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
	"gatewaytui/core/term"
	"gatewaytui/views/lines"
)

func sendFlags(f *pflag.FlagSet, r *request) {
	f.StringVar(&r.Target, "session", "cli:local", "the session's `KEY`")
	f.BoolVar(&r.noWait, "no-wait", false, "print the message's id and do not wait for the reply")
}

// readMessage takes the text from the command line, or from stdin if it is "-": an argument has at most 128 KiB on Linux
// (execve(2), MAX_ARG_STRLEN).
func readMessage(p *program, r *request, args []string) error {
	r.Text = args[0]
	if args[0] == "-" {
		text, err := io.ReadAll(io.LimitReader(p.in, control.MaxText+1))
		if err != nil {
			return fmt.Errorf("read the message from stdin: %w", err)
		}
		r.Text = string(text)
	}
	switch {
	case strings.TrimSpace(r.Text) == "":
		return wrongUsage("write something", "the message has no text")
	case len(r.Text) > control.MaxText:
		return wrongUsage("send it in parts, or as a file that a tool can read", "the message has more than %d bytes", control.MaxText)
	case r.Target == "":
		return wrongUsage("a key reads platform:kind:chat, for instance cli:local", "--session is empty")
	}
	return nil
}

// send says a text to an agent and prints what it answers. The turn is the gateway's: it goes on whatever happens here.
func (p *program) send(ctx context.Context, g *remote.Gateway, r *request) error {
	req, err := g.Do(ctx, r.Command)
	if err != nil {
		return err
	}
	if !r.noWait {
		goesOn := fmt.Sprintf("the turn goes on for message %s; gatewaytui interrupt %s stops it", req.ID, term.Clean(r.Target, lines.MaxCell))
		if req, err = p.ended(ctx, g, req, goesOn); err != nil {
			return err
		}
	}
	switch {
	case p.json:
		p.writeJSON(p.out, req)
	case r.noWait:
		p.say("%s", req.ID)
	default:
		var m ops.MessageResult
		if err := json.Unmarshal(req.Result, &m); err != nil && req.Error == nil {
			return fmt.Errorf("read the reply to message %s: %w", req.ID, err)
		}
		p.lines().Text(m.Reply)
	}
	return failed(req)
}
