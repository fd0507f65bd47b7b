package fence

import (
	"path"
	"strings"
)

// grave are the programs that a list of words is searched for, if nothing is known about the program in front.
var grave = set("rm dd shred wipefs blkdiscard chmod chown find mv sudo env bash sh dash zsh ksh busybox")

// systemFolders are those without which the machine does not work, or which hold what people made.
var systemFolders = set("/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /root /run /sbin /srv /sys /usr /var /usr/bin /usr/lib /usr/lib64 /usr/local /usr/sbin /usr/share /var/lib /var/log /Users /System /Library /Applications")

// ruin says which of the rules without an exception a command breaks. Names of options and files count as far as they are
// known.
func ruin(s *scope, name string, args []field) []found {
	switch {
	case strings.HasPrefix(name, "mkfs") || destroyers[name]:
		return s.disks(operands(args), name+" overwrites ")
	case stoppers[name]:
		if !has(args, "c", "help", "version", "show") {
			return []found{{host, name + " stops the machine"}}
		}
	}
	if rule := ruins[name]; rule != nil {
		return rule(s, name, args)
	}
	return nil
}

// ruins are the rules by program.
var ruins = map[string]func(s *scope, name string, args []field) []found{
	"rm": func(s *scope, _ string, args []field) []found {
		if !has(args, "rR", "recursive") {
			return nil
		}
		return s.roots(operands(args), "it deletes ")
	},
	"mv": func(s *scope, _ string, args []field) []found {
		all := operands(args)
		return s.roots(all[:max(0, len(all)-1)], "it moves away ")
	},
	"chmod": everyPermission, "chown": everyPermission, "chgrp": everyPermission,
	"find": func(s *scope, _ string, args []field) []found { return s.emptied(args) },
	"dd": func(s *scope, _ string, args []field) []found {
		for _, f := range args {
			if target, is := strings.CutPrefix(f.text, "of="); is {
				return s.disks([]field{{text: target, trust: f.trust}}, "it writes to ")
			}
		}
		return nil
	},
	"tee": everyDisk, "truncate": everyDisk, "cp": lastDisk, "install": lastDisk,
	"init": runlevel, "telinit": runlevel, "systemctl": stopsBySystemd, "loginctl": stopsBySystemd,
	"kill": func(_ *scope, _ string, args []field) []found { return signalsAll(args) },
}

// stoppers stop the machine; powers are the words with which systemctl does.
var (
	stoppers = set("shutdown reboot halt poweroff")
	powers   = set("poweroff reboot halt kexec soft-reboot suspend hibernate hybrid-sleep emergency rescue")
)

func everyPermission(s *scope, _ string, args []field) []found {
	all := operands(args)
	if !has(args, "R", "recursive") || len(all) < 2 {
		return nil
	}
	return milder(s.roots(all[1:], "it changes who may use all of "))
}

func everyDisk(s *scope, _ string, args []field) []found {
	return s.disks(operands(args), "it writes to ")
}

func lastDisk(s *scope, _ string, args []field) []found {
	all := operands(args)
	return s.disks(all[max(0, len(all)-1):], "it writes to ")
}

func runlevel(_ *scope, name string, args []field) []found {
	if all := operands(args); len(all) == 1 && len(all[0].text) == 1 && strings.Contains("016sS", all[0].text) {
		return []found{{host, name + " " + all[0].text + " stops the machine"}}
	}
	return nil
}

func stopsBySystemd(_ *scope, name string, args []field) []found {
	if all := operands(args); len(all) > 0 && powers[all[0].text] {
		return []found{{host, name + " " + all[0].text + " stops the machine"}}
	}
	return nil
}

// destroyers overwrite the disk that they are given.
var destroyers = set("mkswap wipefs blkdiscard shred fdisk sfdisk cfdisk gdisk sgdisk parted partprobe mke2fs hdparm badblocks newfs")

// milder is for what concerns the host alone.
func milder(all []found) []found {
	for i := range all {
		all[i].class = host
	}
	return all
}

// has reports whether one of the short options, or a long one or an abbreviation of it, is among args.
func has(args []field, short string, long ...string) bool {
	for _, f := range args {
		switch {
		case f.text == "--":
			return false
		case strings.HasPrefix(f.text, "--"):
			option, _, _ := strings.Cut(f.text[2:], "=")
			for _, l := range long {
				if option != "" && strings.HasPrefix(l, option) {
					return true
				}
			}
		case strings.HasPrefix(f.text, "-") && strings.ContainsAny(f.text[1:], short):
			return true
		}
	}
	return false
}

// operands are the words that are not options.
func operands(args []field) (all []field) {
	over := false
	for _, f := range args {
		switch {
		case !over && f.text == "--":
			over = true
		case !over && len(f.text) > 1 && f.text[0] == '-':
		default:
			all = append(all, f)
		}
	}
	return all
}

// roots says which of the words are folders that everything depends on.
func (s *scope) roots(words []field, what string) []found {
	for _, f := range words {
		if f.trust == unknown {
			continue
		}
		for _, p := range s.paths(f.text) {
			if why, c := s.fence.root(s.fence.meant(p, f.glob)); why != "" {
				return []found{{c, what + p + ", " + why}}
			}
		}
	}
	return nil
}

// meant is the folder that a pattern stands for, if it stands for all in a folder or for a folder of the system.
func (f *Fence) meant(p string, glob bool) string {
	if !glob {
		return p
	}
	for p != "/" && strings.Trim(path.Base(p), "*?.[]!^") == "" {
		p = path.Dir(p)
	}
	for folder := range systemFolders {
		if i := wildcard(p); i >= 0 && aims(p, folder, i) {
			return folder
		}
	}
	return p
}

// root says why everything depends on a folder; empty: it does not.
func (f *Fence) root(p string) (why string, c class) {
	_, home := f.inHome(p)
	switch {
	case systemFolders[p]:
		return "a folder of the system", everywhere
	case home && path.Dir(p) == "/home" || p == f.Home || path.Dir(p) == "/Users":
		return "a home folder", everywhere
	case p != f.Work && under(f.Work, p):
		return "which holds the work folder", everywhere
	case under(p, f.Work):
		return "", plain
	}
	for _, own := range f.Own {
		if own != "" && under(own, p) {
			return "which holds files of the gateway", host
		}
	}
	return "", plain
}

// disks says which of the words are disks.
func (s *scope) disks(words []field, what string) []found {
	for _, f := range words {
		for _, p := range s.leads(f.text) {
			if kind := device(p); kind != "" {
				return []found{{host, what + p + ", which is " + kind}}
			}
		}
	}
	return nil
}

// choosing are the tests of find that leave something out.
var choosing = set("-name -iname -path -ipath -regex -iregex -mtime -mmin -size -newer -empty -user -perm -maxdepth")

// startsOf are the folders that find looks through.
func startsOf(args []field) (all []field) {
	for _, f := range args {
		switch {
		case strings.HasPrefix(f.text, "-") && len(f.text) > 2 || f.text == "(" || f.text == "!":
			return all
		case !strings.HasPrefix(f.text, "-"):
			all = append(all, f)
		}
	}
	return all
}

// emptied says whether find deletes all of a folder that everything depends on.
func (s *scope) emptied(args []field) []found {
	deletes, tests := false, false
	for i, f := range args {
		if strings.HasPrefix(f.text, "-fprint") || f.text == "-fls" {
			if all := s.disks(args[i+1:min(i+2, len(args))], "it writes to "); len(all) > 0 {
				return all
			}
		}
		deletes, tests = deletes || f.text == "-delete", tests || choosing[f.text]
	}
	if !deletes || tests {
		return nil
	}
	return s.roots(startsOf(args), "it deletes all below ")
}

// signalsAll says whether kill ends all processes, or the first one.
func signalsAll(args []field) []found {
	for i, f := range args {
		switch {
		case f.text == "-1" && (i > 0 || len(args) == 1) && (i == 0 || args[i-1].text != "-s"):
			if len(args) == 1 || i > 0 {
				return []found{{host, "kill -1 ends every process of the user"}}
			}
		case f.text == "1" && (i == 0 || strings.HasPrefix(args[i-1].text, "-") || i == len(args)-1):
			if i > 0 && (args[i-1].text == "-s" || args[i-1].text == "-n") {
				continue
			}
			return []found{{host, "kill 1 ends the first process of the machine"}}
		}
	}
	return nil
}
