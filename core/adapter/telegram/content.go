package telegram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

const (
	// maxLine bounds what the model reads of a content that is not a file, in cells.
	maxLine = 1000
	// maxOrigin bounds the name of whom a message was forwarded from, in cells.
	maxOrigin = 128
)

// contents are the fields of a message that hold what its sender sent in addition to a text, and what reads each. A message with no text
// and none of them is a service message.
var contents = []struct {
	field string
	// name is how to call it, for its sender and the model.
	name string
	// read returns a file, a line for the model, or both; nil: it cannot be read.
	read func(json.RawMessage) (*adapter.File, string)
}{
	{"photo", "picture", readPhoto},
	{"document", "file", fileNamed("file", false)},
	{"audio", "audio file", fileNamed("audio", false)},
	{"video", "video", fileNamed("video.mp4", false)},
	{"animation", "animation", fileNamed("animation.mp4", false)},
	{"video_note", "video message", fileNamed("video message.mp4", false)},
	{"voice", "voice message", fileNamed("voice message.ogg", true)},
	{"sticker", "sticker", readSticker},
	{"location", "location", readLocation},
	{"venue", "venue", readVenue},
	{"contact", "contact", readContact},
	{"poll", "poll", readPoll},
	{"dice", "dice", readDice},
	{"checklist", "checklist", readChecklist},
	{"game", "game", nil},
	{"paid_media", "paid media", nil},
	{"story", "story", nil},
}

// content is what a message holds in addition to its text.
type content struct {
	files []adapter.File
	lines []string
	// unread names a content of which nothing can be read; empty: none.
	unread string
}

// contentOf reads the content of a message.
func contentOf(message json.RawMessage) (all content) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(message, &fields) != nil {
		return all
	}
	has := func(field string) bool {
		v, is := fields[field]
		return is && string(v) != "null"
	}
	for same, of := range map[string]string{"document": "animation", "location": "venue"} { // Telegram sends both
		if has(of) {
			delete(fields, same)
		}
	}
	for _, c := range contents {
		if !has(c.field) {
			continue
		}
		var file *adapter.File
		var line string
		if c.read != nil {
			file, line = c.read(fields[c.field])
		}
		if file != nil {
			all.files = append(all.files, *file)
		}
		if line != "" {
			all.lines = append(all.lines, "["+term.Clean(line, maxLine)+"]")
		}
		if file == nil && line == "" {
			all.unread = c.name
		}
	}
	return all
}

// words is the text of a message together with the rest of its content.
func (c content) words(said string) string {
	lines := c.lines
	if c.unread != "" {
		lines = append(slices.Clip(lines), "[It came with something that cannot be read here: "+c.unread+".]")
	}
	if len(lines) == 0 {
		return said
	}
	return strings.TrimSpace(said + "\n" + strings.Join(lines, "\n"))
}

// sentFile is the part of Telegram's Document, Audio, Video, Animation, Voice, VideoNote, Sticker and PhotoSize that we read.
type sentFile struct {
	ID     string `json:"file_id"`
	Name   string `json:"file_name"`
	Type   string `json:"mime_type"`
	Size   int64  `json:"file_size"`
	Width  int64  `json:"width"`
	Height int64  `json:"height"`
}

// fileNamed reads a file, whose name is usual if it has none.
func fileNamed(usual string, spoken bool) func(json.RawMessage) (*adapter.File, string) {
	return func(raw json.RawMessage) (*adapter.File, string) {
		var f sentFile
		if json.Unmarshal(raw, &f) != nil || f.ID == "" {
			return nil, ""
		}
		return &adapter.File{Name: cmp.Or(f.Name, usual), Type: f.Type, Size: f.Size, Ref: f.ID, Spoken: spoken}, ""
	}
}

// readPhoto reads the same picture in several sizes, and takes the largest.
func readPhoto(raw json.RawMessage) (*adapter.File, string) {
	var sizes []sentFile
	if json.Unmarshal(raw, &sizes) != nil || len(sizes) == 0 {
		return nil, ""
	}
	f := slices.MaxFunc(sizes, func(a, b sentFile) int {
		return cmp.Or(cmp.Compare(a.Width*a.Height, b.Width*b.Height), cmp.Compare(a.Size, b.Size))
	})
	if f.ID == "" {
		return nil, ""
	}
	return &adapter.File{Name: "picture.jpg", Type: "image/jpeg", Size: f.Size, Ref: f.ID}, ""
}

// readSticker reads a sticker: its picture, if it does not move, and the emoji that it stands for.
func readSticker(raw json.RawMessage) (file *adapter.File, line string) {
	var s struct {
		sentFile
		Emoji    string `json:"emoji"`
		Animated bool   `json:"is_animated"`
		Video    bool   `json:"is_video"`
	}
	if json.Unmarshal(raw, &s) != nil {
		return nil, ""
	}
	if s.ID != "" && !s.Animated && !s.Video {
		file = &adapter.File{Name: "sticker.webp", Type: "image/webp", Size: s.Size, Ref: s.ID}
	}
	return file, strings.TrimSpace("Sticker " + s.Emoji)
}

type place struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

func (p place) String() string { return fmt.Sprintf("%.6f, %.6f", p.Latitude, p.Longitude) }

func readLocation(raw json.RawMessage) (*adapter.File, string) {
	var p place
	if json.Unmarshal(raw, &p) != nil {
		return nil, ""
	}
	return nil, "Location: " + p.String()
}

func readVenue(raw json.RawMessage) (*adapter.File, string) {
	var v struct {
		At      place  `json:"location"`
		Title   string `json:"title"`
		Address string `json:"address"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return nil, ""
	}
	return nil, fmt.Sprintf("Location: %s, %s (%s)", v.Title, v.Address, v.At)
}

func readContact(raw json.RawMessage) (*adapter.File, string) {
	var c struct {
		First string `json:"first_name"`
		Last  string `json:"last_name"`
		Phone string `json:"phone_number"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return nil, ""
	}
	return nil, fmt.Sprintf("Contact: %s, %s", strings.TrimSpace(c.First+" "+c.Last), c.Phone)
}

func readPoll(raw json.RawMessage) (*adapter.File, string) {
	var p struct {
		Question string `json:"question"`
		Options  []struct {
			Text string `json:"text"`
		} `json:"options"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return nil, ""
	}
	line := "Poll: " + p.Question
	for i, o := range p.Options {
		line += fmt.Sprintf(" (%d) %s", i+1, o.Text)
	}
	return nil, line
}

func readDice(raw json.RawMessage) (*adapter.File, string) {
	var d struct {
		Emoji string `json:"emoji"`
		Value int    `json:"value"`
	}
	if json.Unmarshal(raw, &d) != nil {
		return nil, ""
	}
	return nil, fmt.Sprintf("Dice %s: %d", d.Emoji, d.Value)
}

func readChecklist(raw json.RawMessage) (*adapter.File, string) {
	var l struct {
		Title string `json:"title"`
		Tasks []struct {
			Text string `json:"text"`
			Done int64  `json:"completion_date"`
		} `json:"tasks"`
	}
	if json.Unmarshal(raw, &l) != nil {
		return nil, ""
	}
	line := "Checklist: " + l.Title
	for _, t := range l.Tasks {
		line += "; " + t.Text
		if t.Done != 0 {
			line += " (done)"
		}
	}
	return nil, line
}

// origin is whom a message was forwarded from (https://core.telegram.org/bots/api#messageorigin).
type origin struct {
	User struct {
		First string `json:"first_name"`
		Last  string `json:"last_name"`
	} `json:"sender_user"`
	Hidden string `json:"sender_user_name"`
	Group  chat   `json:"sender_chat"`
	Chat   chat   `json:"chat"`
}

type chat struct {
	Title string `json:"title"`
}

// String is the name, for the model.
func (o *origin) String() string {
	name := term.Clean(strings.TrimSpace(o.User.First+" "+o.User.Last), maxOrigin)
	return cmp.Or(name, term.Clean(cmp.Or(o.Hidden, o.Chat.Title, o.Group.Title), maxOrigin), "an unknown sender")
}
