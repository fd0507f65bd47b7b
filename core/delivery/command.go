package delivery

import "strings"

// ParseCommand reads a chat command: a slash and a word at the very start of the text, as in "/new" or "/status@bot".
// A path such as "/etc/hosts is broken" is not a command.
func ParseCommand(text string) (name, arg string, is bool) {
	rest, found := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !found {
		return "", "", false
	}
	name, arg, _ = strings.Cut(rest, " ")
	if line, more, cut := strings.Cut(name, "\n"); cut {
		name, arg = line, more+" "+arg
	}
	name, _, _ = strings.Cut(name, "@")
	name = strings.ToLower(name)
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' && r != '-' }) {
		return "", "", false
	}
	return name, strings.TrimSpace(arg), true
}

// request is the text of a message as it was read, once.
type request struct {
	// text is without /queue before it: this is what waits, and what the next life works on if this one ends.
	text string
	// command and arg are the chat command that the text is.
	command, arg string
	isCommand    bool
}

func readRequest(text string) request {
	for {
		name, arg, is := ParseCommand(text)
		if name != "queue" || arg == "" {
			return request{text: text, command: name, arg: arg, isCommand: is}
		}
		text = arg
	}
}
