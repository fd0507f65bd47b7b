package memory

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gatewaytui/core/term"
)

// Said is one message of a conversation. It is data, not an instruction.
type Said struct {
	// Agent means that the agent said it, else User wrote it, as the platform names them.
	Agent bool
	User  string
	Text  string
	At    time.Time
}

// Material is a part of a conversation that the memory's provider has not had.
type Material struct {
	// Conversation is the id and Key the key of the conversation.
	Conversation, Key string
	// Owner is whose notes come of it, People who said something in it.
	Owner  Owner
	People []string
	Said   []Said
}

// Extractor finds what is worth a note in a part of a conversation.
type Extractor interface {
	// Extract returns short texts, one for each note; none: nothing is worth one. known are the notes that there are. It returns soon after
	// the end of ctx.
	Extract(ctx context.Context, m Material, known []Note) ([]string, error)
}

const (
	// maxGleaned is the most notes of one part of a conversation.
	maxGleaned = 20
	// knownNotes is how many notes an extractor sees.
	knownNotes = 100
)

// glean keeps what an extractor finds. What a note says already is not kept again.
func glean(ctx context.Context, p Provider, find Extractor, m Material) error {
	known, err := p.First(ctx, []Owner{m.Owner}, knownNotes)
	if err != nil {
		return err
	}
	texts, err := find.Extract(ctx, m, known)
	if err != nil {
		return err
	}
	for _, found := range texts[:min(len(texts), maxGleaned)] {
		found = tidy(found)
		if found == "" || slices.ContainsFunc(known, func(n Note) bool { return covers(n.Text, found) }) {
			continue
		}
		n, err := p.Save(ctx, Note{Owner: m.Owner, Text: found, By: ByFlush, People: m.People})
		if err != nil {
			return err
		}
		known = append(known, n)
	}
	return nil
}

// covers reports whether a note has all words of a text. One word less may be the one that matters.
func covers(note, found string) bool {
	has := wordsOf(note)
	return !slices.ContainsFunc(wordsOf(found), func(w string) bool { return !slices.Contains(has, w) })
}

// tidy is a text as a note keeps it: cleaned, without secrets, on one line, and not longer than a note may be.
func tidy(found string) string {
	return term.Clean(term.Redact(strings.Join(strings.Fields(found), " ")), MaxText)
}

// ErrLater is an extractor's error when a part of a conversation is to be read later: it stays recorded, and nothing has failed.
var ErrLater = errors.New("it is read later")

// Rule is the extractor without a model: it keeps the sentences of people that ask for it.
var Rule Extractor = rule{}

type rule struct{}

// asks begin a sentence that asks to be remembered; asksWithin are in one, in languages that are written without spaces.
var (
	asks = []string{
		"remember", "please remember", "note that", "please note", "keep in mind", "please keep in mind", "don't forget", "do not forget", "don’t forget",
		"merk dir", "merke dir", "bitte merk", "vergiss nicht", "recuerda", "no olvides", "souviens-toi", "n'oublie pas", "n’oublie pas", "ricorda",
	}
	asksWithin = []string{"记住", "記住", "记得", "記得", "別忘", "别忘", "覚えて", "忘れないで", "기억해"}
)

// maxSentences bounds what is looked at of one message.
const maxSentences = 200

// Extract implements Extractor.
func (rule) Extract(_ context.Context, m Material, _ []Note) (texts []string, _ error) {
	for _, s := range m.Said {
		if s.Agent {
			continue
		}
		for _, sentence := range sentences(s.Text) {
			if !asksToRemember(sentence) {
				continue
			}
			if len(m.People) > 1 && s.User != "" {
				sentence = term.Clean(s.User, 80) + ": " + sentence
			}
			texts = append(texts, sentence)
		}
	}
	return texts, nil
}

func asksToRemember(sentence string) bool {
	lower := strings.ToLower(sentence)
	if strings.HasSuffix(lower, "?") || strings.HasSuffix(lower, "？") {
		return false
	}
	return slices.ContainsFunc(asks, func(begin string) bool {
		rest, is := strings.CutPrefix(lower, begin)
		return is && strings.TrimLeft(rest, " ,:!.") != "" && (rest[0] < 'a' || rest[0] > 'z')
	}) || slices.ContainsFunc(asksWithin, func(part string) bool { return strings.Contains(lower, part) })
}

// sentences cuts a text after the marks that end a sentence, and at the ends of lines.
func sentences(said string) (all []string) {
	begin := 0
	end := func(at int) {
		if s := strings.TrimSpace(said[begin:at]); s != "" && len(all) < maxSentences {
			all = append(all, s)
		}
		begin = at
	}
	said = strings.ToValidUTF8(said, "\uFFFD")
	for i, r := range said {
		behind := i + utf8.RuneLen(r)
		switch {
		case r == '\n', strings.ContainsRune("。！？", r),
			strings.ContainsRune(".!?", r) && (behind == len(said) || said[behind] == ' '):
			end(behind)
		}
	}
	end(len(said))
	return all
}

// extractor is the one of the options, else the rule.
func (m *Memory) extractor() Extractor {
	if m.o.Extractor != nil {
		return m.o.Extractor
	}
	return Rule
}
