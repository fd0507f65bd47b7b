package mail

import (
	"strings"

	"gatewaytui/core/text"
)

const maxAttribution = 4 // lines

var (
	// original is the line above a mail that Outlook and others quote without a sign on each line.
	original = text.Lazily(`(?i)^\s*-{3,}\s*(?:original message|original appointment|ursprüngliche nachricht|message d'origine|mensaje original|messaggio originale|oorspronkelijk bericht|原始邮件|元のメッセージ)\s*-{3,}\s*$`)
	// fromField and anyField are lines of a header that is quoted.
	fromField = text.Lazily(`(?i)^\*?(?:from|von|de|da|van|från|fra|发件人|差出人)\s?[:：]\*?\s*\S`)
	anyField  = text.Lazily(`^\*?[\p{L} -]{1,20}[:：]\*?\s*\S`)
	// line is a line across, which Outlook has above such a header.
	line = text.Lazily(`^\s*[_-]{10,}\s*$`)
	// dated is what the line that introduces a quote has.
	dated = text.Lazily(`\d|@`)
	// htmlQuote is where HTML begins to quote a mail.
	htmlQuote = text.Lazily(`(?i)<(?:div|blockquote)\b[^>]*(?:gmail_quote|gmail_attr|type="?cite|moz-cite-prefix|yahoo_quoted|protonmail_quote|id="?(?:x_)?(?:appendonsend|divrplyfwdmsg|mail-editor-reference))`)
)

// unquote divides the text of a mail into what its sender wrote and what it quotes of earlier mails, and leaves out the signature. Only
// an answer has a quote without a sign on its lines.
func unquote(text string, answer bool) (said, quoted string) {
	lines := strings.Split(text, "\n")
	var mine, theirs []string
	for i := 0; i < len(lines); i++ {
		l := strings.TrimRight(lines[i], " \t")
		switch {
		case lines[i] == "-- ":
			for _, rest := range lines[i+1:] { // the signature may be above what is quoted
				if strings.HasPrefix(rest, ">") {
					theirs = append(theirs, unsigned(rest))
				}
			}
			return finished(mine, theirs)
		case answer && (original().MatchString(l) || quotedHeader(lines, i)):
			return finished(mine, append(theirs, lines[i:]...))
		case strings.HasPrefix(l, ">"):
			if len(theirs) == 0 || len(mine) > 0 {
				mine = withoutAttribution(mine)
			}
			theirs = append(theirs, unsigned(l))
		default:
			mine = append(mine, l)
		}
	}
	return finished(mine, theirs)
}

// finished is what unquote returns.
func finished(mine, theirs []string) (said, quoted string) {
	return strings.TrimSpace(strings.Join(mine, "\n")), strings.TrimSpace(strings.Join(theirs, "\n"))
}

func unsigned(line string) string { return strings.TrimPrefix(strings.TrimLeft(line, ">"), " ") }

// quotedHeader reports whether a mail begins here that is quoted with a part of its header.
func quotedHeader(lines []string, at int) bool {
	if line().MatchString(lines[at]) && at+1 < len(lines) {
		at++
	}
	if !fromField().MatchString(lines[at]) {
		return false
	}
	fields := 0
	for _, l := range lines[at+1 : min(at+5, len(lines))] {
		if anyField().MatchString(l) {
			fields++
		}
	}
	return fields >= 2
}

// withoutAttribution takes off the paragraph that introduces a quote, such as "On Monday at 10:00, Alice wrote:".
func withoutAttribution(lines []string) []string {
	end := len(lines)
	for end > 0 && lines[end-1] == "" {
		end--
	}
	begin := end
	for begin > 0 && lines[begin-1] != "" {
		begin--
	}
	paragraph := strings.Join(lines[begin:end], " ")
	if end == 0 || end-begin > maxAttribution || !strings.HasSuffix(paragraph, ":") && !strings.HasSuffix(paragraph, "：") || !dated().MatchString(paragraph) {
		return lines
	}
	return lines[:begin]
}
