package ops

import (
	"strconv"
	"time"
)

// Rest is what a command of a console takes after its target, as its help shows it.
type Rest string

// The kinds: none, the text of a message, a reason, the mode of a stop, the word interrupt, and a duration.
const (
	RestNone      Rest = ""
	RestText      Rest = "TEXT"
	RestReason    Rest = "[REASON]"
	RestMode      Rest = "[fast|immediate]"
	RestInterrupt Rest = "[interrupt]"
	RestTime      Rest = "[30s]"
)

// Free reports whether the rest is any text.
func (r Rest) Free() bool { return r == RestText || r == RestReason }

// ReadRest reads what was typed after the target into cmd. An error says what can be typed.
func (s VerbSpec) ReadRest(cmd *Command, rest string) error {
	quoted := strconv.Quote(rest)
	switch s.Rest {
	case RestText:
		if cmd.Text = rest; rest == "" {
			return invalid("the message has no text", s.Name+" 2 hello")
		}
	case RestReason:
		cmd.Reason = rest
	case RestMode:
		cmd.Mode = Mode(rest)
	case RestInterrupt:
		if cmd.Interrupt = rest == "interrupt"; rest != "" && !cmd.Interrupt {
			return invalid(quoted+" is not an option of "+s.Name, s.Name+" 2 interrupt")
		}
	case RestTime:
		if rest == "" {
			break
		}
		d, err := time.ParseDuration(rest)
		if err != nil || d < time.Millisecond {
			return invalid(quoted+" is not a duration", "it takes a duration from 1ms, such as 30s")
		}
		cmd.ByMS = d.Milliseconds()
	case RestNone:
		if rest != "" {
			return invalid(quoted+" is one word too many", "help lists the commands")
		}
	}
	return nil
}

func invalid(message, hint string) error {
	return &Error{Code: CodeInvalid, Message: message, Hint: hint}
}
