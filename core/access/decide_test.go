package access

import (
	"fmt"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

func TestTR1_WhatEachRoleMayDoOnEachPlatform(t *testing.T) {
	platforms := map[rune]string{'c': "telegram", 'd': "discord", 's': "cli", 'a': API} // and the letters of those where a role may
	for _, row := range []struct {
		do                                     Action
		without, guest, member, owner, comment string
	}{
		{Talk, "", "cdas", "cdas", "cdas", "everyone with a role talks"},
		{Tools, "", "", "cdas", "cdas", "a guest has no tools"},
		{Command("help"), "", "cdas", "cdas", "cdas", ""},
		{Command("whoami"), "", "cdas", "cdas", "cdas", ""},
		{Command("new"), "", "cdas", "cdas", "cdas", ""},
		{Command("stop"), "", "cdas", "cdas", "cdas", ""},
		{Command("status"), "", "cdas", "cdas", "cdas", ""},
		{Command("reset"), "", "", "cdas", "cdas", "guests have five commands"},
		{Command("background"), "", "", "cdas", "cdas", ""},
		{Command("queue"), "", "", "cdas", "cdas", ""},
		{Command("steer"), "", "", "cdas", "cdas", ""},
		{Command("busy"), "", "", "cdas", "cdas", ""},
		{Command("model"), "", "", "cdas", "cdas", ""},
		{Command("compact"), "", "", "cdas", "cdas", ""},
		{Command("retry"), "", "", "cdas", "cdas", ""},
		{Command("undo"), "", "", "cdas", "cdas", ""},
		{Command("pin"), "", "", "cdas", "cdas", ""},
		{Command("unpin"), "", "", "cdas", "cdas", ""},
		{Command("memory"), "", "", "cdas", "cdas", "a guest has no notes"},
		{Command("sessions"), "", "", "cdas", "cdas", ""},
		{Command("search"), "", "", "cdas", "cdas", ""},
		{Command("title"), "", "", "cdas", "cdas", ""},
		{Command("resume"), "", "", "cdas", "cdas", ""},
		{Command("usage"), "", "", "cdas", "cdas", ""},
		{Command("start"), "", "", "cdas", "cdas", ""},
		{Command("a later one"), "", "", "cdas", "cdas", "a command that is not listed is none of a guest's"},
		{Command("people"), "", "", "", "cds", "a program lets no person in"},
		{Approve, "", "", "", "cds", "a program never approves through a chat request"},
		{LetIn, "", "", "", "cds", ""},
		{Restart, "", "", "", "cds", ""},
		{ReadOthers, "", "", "", "cdas", ""},
		{RunAsRoot, "", "", "", "cdas", ""},
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
