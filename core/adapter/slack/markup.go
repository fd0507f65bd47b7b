package slack

import "strings"

// plain undoes what Slack escapes in a text (https://docs.slack.dev/messaging/formatting-message-text#escaping), and escaped does it.
var (
	plain   = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	escaped = strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;")
)

// readable is a text as its sender saw it: what stands between angle brackets names a user, a channel or a link. name is what a user is
// called, empty if that is not known.
func readable(text string, name func(user string) string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "<")
		inner, after, closed := strings.Cut(rest, ">")
		if !found || !closed {
			out.WriteString(plain.Replace(text))
			return out.String()
		}
		out.WriteString(plain.Replace(before))
		out.WriteString(plain.Replace(reference(inner, name)))
		text = after
	}
}

// reference is what stands between angle brackets, as its sender saw it.
func reference(inner string, name func(string) string) string {
	body, label, _ := strings.Cut(inner, "|")
	if body == "" {
		return "<" + inner + ">"
	}
	sign, rest := body[:1], body[1:]
	switch sign {
	case "@":
		if label == "" && name != nil {
			label = name(rest)
		}
		if label == "" {
			label = rest
		}
		return "@" + strings.TrimPrefix(label, "@")
	case "#":
		if label == "" {
			label = rest
		}
		return "#" + label
	case "!":
		if label != "" {
			return label
		}
		return "@" + rest
	}
	switch label {
	case "", body, strings.TrimPrefix(body, "mailto:"), strings.TrimPrefix(body, "tel:"):
		return strings.TrimPrefix(strings.TrimPrefix(body, "mailto:"), "tel:")
	}
	return label + " (" + body + ")"
}

// unmention takes the bot's name off the beginning of a text as Slack wrote it. named means that the text names the bot at all, others
// that it begins with the name of another user and does not name the bot.
func unmention(text, me string) (rest string, named, others bool) {
	rest = strings.TrimSpace(text)
	for begin := "<@" + me; strings.Contains(rest, begin+">") || strings.Contains(rest, begin+"|"); {
		named = true
		after, found := strings.CutPrefix(rest, begin)
		if !found || !strings.HasPrefix(after, ">") && !strings.HasPrefix(after, "|") {
			break
		}
		_, after, _ = strings.Cut(after, ">")
		rest = strings.TrimSpace(after)
	}
	if !named {
		return text, false, strings.HasPrefix(rest, "<@")
	}
	return rest, true, false
}
