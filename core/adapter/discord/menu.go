package discord

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

const (
	// maxCommands is the most commands of a menu, maxAbout the most characters of what one does.
	maxCommands = 100
	maxAbout    = 100
	// textOption is the one field of each command: what stands behind its name.
	textOption = "text"
)

// command is a command of the menu as the API takes it and lists it.
type command struct {
	Name    string   `json:"name"`
	About   string   `json:"description"`
	Options []option `json:"options"`
}

type option struct {
	Type  int    `json:"type"` // 3 is a text
	Name  string `json:"name"`
	About string `json:"description"`
}

// SetMenu implements adapter.MenuSetter: the menu is the commands that Discord offers where someone types a slash. A use of
// one arrives as a message.
func (c *conn) SetMenu(ctx context.Context, commands []adapter.MenuCommand) error {
	if c.session.app == 0 {
		return &adapter.RefusedError{Why: "Discord did not name the bot's application"}
	}
	want := make([]command, 0, len(commands))
	for _, m := range commands[:min(len(commands), maxCommands)] {
		want = append(want, command{
			Name: m.Name, About: cmp.Or(term.Clean(m.About, maxAbout), m.Name),
			Options: []option{{Type: 3, Name: textOption, About: "what stands behind the command, if anything"}},
		})
	}
	return c.While(ctx, func(ctx context.Context) error {
		at := "/applications/" + c.session.app.String() + "/commands"
		var have []command
		if err := c.api.act(ctx, http.MethodGet, at, nil, &have); err != nil {
			return err
		}
		if slices.EqualFunc(sorted(have), sorted(want), func(a, b command) bool {
			return a.Name == b.Name && a.About == b.About && slices.Equal(a.Options, b.Options)
		}) {
			return nil
		}
		return c.api.act(ctx, http.MethodPut, at, want, nil)
	})
}

func sorted(commands []command) []command {
	return slices.SortedFunc(slices.Values(commands), func(a, b command) int { return cmp.Compare(a.Name, b.Name) })
}
