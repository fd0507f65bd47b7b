package access

import (
	"fmt"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

// all says a role may do an action on each of a chat platform, the API and the control socket; the letters are those of the
// platforms on which it may.
func TestTR1_WhatEachRoleMayDoOnEachPlatform(t *testing.T) {
	platforms := map[rune]string{'c': "telegram", 'd': "discord", 'a': API, 's': Control}
	for _, row := range []struct {
		do                                     Action
		without, guest, member, owner, comment string
	}{
		{Talk, "s", "cdas", "cdas", "cdas", "everyone with a role talks"},
		{Tools, "s", "s", "cdas", "cdas", "a guest has no tools"},
		{Command("help"), "s", "cdas", "cdas", "cdas", ""},
		{Command("whoami"), "s", "cdas", "cdas", "cdas", ""},
		{Command("new"), "s", "cdas", "cdas", "cdas", ""},
		{Command("stop"), "s", "cdas", "cdas", "cdas", ""},
		{Command("status"), "s", "cdas", "cdas", "cdas", ""},
		{Command("reset"), "s", "s", "cdas", "cdas", "guests have five commands"},
		{Command("background"), "s", "s", "cdas", "cdas", ""},
		{Command("queue"), "s", "s", "cdas", "cdas", ""},
		{Command("steer"), "s", "s", "cdas", "cdas", ""},
		{Command("busy"), "s", "s", "cdas", "cdas", ""},
		{Command("model"), "s", "s", "cdas", "cdas", ""},
		{Command("compact"), "s", "s", "cdas", "cdas", ""},
		{Command("retry"), "s", "s", "cdas", "cdas", ""},
		{Command("undo"), "s", "s", "cdas", "cdas", ""},
		{Command("pin"), "s", "s", "cdas", "cdas", ""},
		{Command("unpin"), "s", "s", "cdas", "cdas", ""},
		{Command("sessions"), "s", "s", "cdas", "cdas", ""},
		{Command("search"), "s", "s", "cdas", "cdas", ""},
		{Command("title"), "s", "s", "cdas", "cdas", ""},
		{Command("resume"), "s", "s", "cdas", "cdas", ""},
		{Command("usage"), "s", "s", "cdas", "cdas", ""},
		{Command("start"), "s", "s", "cdas", "cdas", ""},
		{Command("a later one"), "s", "s", "cdas", "cdas", "a command that is not listed is none of a guest's"},
		{Command("people"), "s", "s", "s", "cds", "a program lets no person in"},
		{Approve, "s", "s", "s", "cds", "a program never approves through a chat request"},
		{LetIn, "s", "s", "s", "cds", ""},
		{Restart, "s", "s", "s", "cds", ""},
		{ReadOthers, "s", "s", "s", "cdas", ""},
		{RunAsRoot, "s", "s", "s", "cdas", ""},
	} {
		for role, where := range map[ops.Role]string{"": row.without, ops.RoleGuest: row.guest, ops.RoleMember: row.member, ops.RoleOwner: row.owner, "admin": row.without} {
			for letter, platform := range platforms {
				if got, want := Decide(role, row.do, platform), strings.ContainsRune(where, letter); got != want {
					t.Errorf("the role %q may do %q on %s: %v, want %v (%s)", role, row.do, platform, got, want, row.comment)
				}
			}
		}
	}
}

func TestTR1_ARoleIsOneOfThree(t *testing.T) {
	for _, name := range []string{"", "admin", "Owner", "owner ", "\x1b[31m"} {
		if role, err := ops.ReadRole(name); role != "" || !ops.HasCode(err, ops.CodeInvalid) || strings.Contains(fmt.Sprint(err), "\x1b") {
			t.Errorf("%q is the role %q (%v)", name, role, err)
		}
	}
	for i, role := range ops.Roles {
		for j, other := range ops.Roles {
			if role.AtLeast(other) != (i <= j) {
				t.Errorf("%s may do all that %s may: %v", role, other, i > j)
			}
		}
		if !role.AtLeast("") || ops.Role("").AtLeast(role) {
			t.Errorf("%s may not do more than no role", role)
		}
	}
}
