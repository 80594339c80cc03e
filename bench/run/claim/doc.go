// Package claim lets any number of processes on any number of hosts share the work on one output folder: whoever makes
// a run claims the run's folder first, and whoever dies loses it to the next who comes.
//
// The files. Claim number e of a folder, its epoch, is the hidden file .claim-e in it. Its text names the process and
// has a random id, which no other claim ever has. The claim with the largest epoch holds the folder. What its holder
// writes is .epoch-e.id.name until it is published, which is a rename to name.
//
// Claiming. A process that finds no claim, or finds that the largest is dead, makes a file of its own, .claim-id, with
// a lock and the text of the claim, and links it to .claim-e for the next epoch e. The link can be made once. Then it
// lists the folder again. If a larger epoch is there, or a smaller one that it had not seen before, the folder has
// changed hands since it looked, and it removes its claim and looks again. Else it removes all that older holders have
// left, and has the folder. Where the file system has no links, .claim-e is created as a new file.
//
// Dying. A holder rewrites its claim every Beat with another number. Whoever sees the very same bytes for Expiry, by
// its own monotonic clock, takes the holder for dead. Times of files, clocks of other hosts, host names and process
// numbers decide nothing. If the claim was made on this machine since that was last started, and on this very mount,
// which the boot id and the device number in it tell, a free lock of the claim says the same at once. The lock belongs
// to the open file, which no child inherits. Where a link is not one file with what was linked, as on sshfs, claims
// tell of no locks, and only Expiry says who is dead.
//
// Why nobody else publishes once a process has the folder. Publish lists the folder and finds no larger epoch; then it
// reads its own claim, which is still there; then it renames. Of a claim made before that listing, the listing has the
// epoch, or its maker has come and gone and removed the publisher's claim, which is found gone. A claim made after the
// listing is made after the file to be published: its maker lists the folder after that, finds the file, and removes
// it before Try returns. If the rename is late, it fails, because its source is gone; names of sources never come
// back. If it is early, the file was published before Try returned. So a process may be stopped anywhere, for any
// time.
//
// What is asked of the file system: link, rename, create and remove happen at once for all hosts; a listing has the
// names that were there all the time; a file that is opened shows what was written before another closed it; and what
// a host sees of a folder, its names and which files they are, is not older than its own last change in that folder
// and what it has seen of it before. Local file systems and NFS keep these promises. NFS may report an error for an
// operation that was made, if it was asked for twice: so a claim is made if its name has our id, a rename was made if
// the new name is the old file, and a file is removed if it is not there.
//
// What may happen between any two operations, and what comes of it:
//   - Two link the same epoch: one link is made, the other process looks again, and finds the holder.
//   - A process looks, is stopped, and links when others have had the folder: it finds a larger epoch, or one that it
//     has not seen, and removes its claim. If all others are done, the claim is good, though its epoch is not 1:
//     whoever has claimed a folder must look whether there is anything left to do.
//   - A process dies before the link: its .claim-id stays until the next claim. It dies after the link: its claim is
//     dead like any other. It dies while it removes what others left: the next one removes the rest.
//   - A process is told that its own file is gone before it has linked it, because a new holder has removed it: it
//     looks again. After the link nobody needs that name.
//   - A holder is stopped for longer than Expiry: it loses the claim, and finds out by its next heartbeat, Check or
//     Publish. It removes nothing but files with its own id.
//   - A holder cannot write heartbeats: after Expiry it takes its claim for lost, as all others do.
//
// What cannot be helped costs work, and never a result:
//   - Epochs begin anew after a Release. A process that is stopped between reading an old claim and removing it, until
//     others have released the folder and another has claimed it with the same epoch, removes that claim. Its holder
//     loses the folder. In the same way a process that takes over a claim which was released in that moment may make
//     the next holder take its claim for lost, although it then steps back itself.
//   - Everybody is stopped together, as a batch system may do, for longer than Expiry: the first to go on may take
//     over from one that lives.
//   - Two virtual machines go on from one snapshot, so that boot id and device number are the same, with a file system
//     whose locks hold on one machine only: each takes the other for dead.
//   - Without links, a process that dies between creating .claim-e and writing it leaves an empty claim of an unknown
//     process, which holds the folder until Expiry.
package claim
