(* SPDX-License-Identifier: MIT
   Threads of OCaml, which hand one lock on to each other: some compute, some
   pass numbers through a mutex and a condition variable or a pipe. *)
let n = 1000

let rec fib k = if k < 2 then k else fib (k - 1) + fib (k - 2)

let () =
  let m = Mutex.create () and filled = Condition.create () and emptied = Condition.create () in
  let slot = ref None and sum = ref 0 and piped = ref 0 and computed = Array.make 3 0 in
  let put () =
    for i = 1 to n do
      Mutex.lock m;
      while !slot <> None do Condition.wait emptied m done;
      slot := Some i;
      Condition.signal filled;
      Mutex.unlock m
    done
  and take () =
    for _ = 1 to n do
      Mutex.lock m;
      while !slot = None do Condition.wait filled m done;
      (match !slot with Some i -> sum := !sum + i | None -> ());
      slot := None;
      Condition.signal emptied;
      Mutex.unlock m
    done
  and pipe () =
    let r, w = Unix.pipe () in
    let b = Bytes.make 1 'x' in
    for _ = 1 to n do
      ignore (Unix.write w b 0 1);
      piped := !piped + Unix.read r b 0 1
    done in
  let threads =
    List.map (fun f -> Thread.create f ())
      ([ put; take; pipe ]
      @ List.init 3 (fun i () -> for _ = 1 to 5 do computed.(i) <- fib 25 done; Thread.delay 0.001)) in
  List.iter Thread.join threads;
  Printf.printf "sum %d, piped %d, computed %d\n" !sum !piped (Array.fold_left ( + ) 0 computed)
