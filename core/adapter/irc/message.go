package irc

import (
	"errors"
	"strings"
)

// message is one line of the protocol (RFC 1459, 2.3.1; https://ircv3.net/specs/extensions/message-tags).
type message struct {
	tags map[string]string
	// source is who sent it: a server, or nick!user@host; empty: the server.
	source  string
	command string
	params  []string
}

const (
	// maxLine bounds a line of the server in bytes: 8,191 for tags, 512 for the rest, and some.
	maxLine = 16 << 10
	// maxParams bounds the parameters of a line.
	maxParams = 32
)

var errNoCommand = errors.New("the line has no command")

// parse reads a line without its end.
func parse(line string) (m message, err error) {
	line = strings.Trim(line, "\r\n")
	if strings.HasPrefix(line, "@") {
		var tags string
		tags, line, _ = strings.Cut(line[1:], " ")
		m.tags = map[string]string{}
		for tag := range strings.SplitSeq(tags, ";") {
			if name, value, _ := strings.Cut(tag, "="); name != "" {
				m.tags[name] = tagValue.Replace(strings.TrimSuffix(value, `\`))
			}
		}
	}
	line = strings.TrimLeft(line, " ")
	if strings.HasPrefix(line, ":") {
		m.source, line, _ = strings.Cut(line[1:], " ")
		line = strings.TrimLeft(line, " ")
	}
	m.command, line, _ = strings.Cut(line, " ")
	if m.command == "" {
		return message{}, errNoCommand
	}
	m.command = strings.ToUpper(m.command)
	for line = strings.TrimLeft(line, " "); line != "" && len(m.params) < maxParams; line = strings.TrimLeft(line, " ") {
		if strings.HasPrefix(line, ":") {
			m.params = append(m.params, line[1:])
			break
		}
		var param string
		param, line, _ = strings.Cut(line, " ")
		m.params = append(m.params, param)
	}
	return m, nil
}

// tagValue takes the escapes out of the value of a tag.
var tagValue = strings.NewReplacer(`\:`, ";", `\s`, " ", `\\`, `\`, `\r`, "\r", `\n`, "\n")

// param is the parameter with this number, from 0; empty: there is none.
func (m message) param(n int) string {
	if n >= len(m.params) {
		return ""
	}
	return m.params[n]
}

// last is the last parameter: the text of most messages.
func (m message) last() string {
	if len(m.params) == 0 {
		return ""
	}
	return m.params[len(m.params)-1]
}

// nick is that of who sent the message.
func (m message) nick() string {
	nick, _, _ := strings.Cut(m.source, "!")
	return nick
}

// fold is a nick, channel or account for comparisons. It folds ASCII alone: the further pairs of RFC 1459 ("[" and "{") are two characters
// on other servers, where two people would become one.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
