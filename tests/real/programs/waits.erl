%% SPDX-License-Identifier: MIT
%% Erlang's processes: timers, messages and files, on its schedulers and its
%% pool for blocking work.
-module(waits).
-export([main/0]).

worker(Parent, I) ->
	File = "file" ++ integer_to_list(I),
	[begin ok = file:write_file(File, "x"), timer:sleep(1) end || _ <- lists:seq(1, 20)],
	Parent ! {done, lists:sum(lists:seq(1, 100000))}.

main() ->
	Self = self(),
	[spawn(fun() -> worker(Self, I) end) || I <- lists:seq(1, 8)],
	Sum = lists:sum([receive {done, X} -> X end || _ <- lists:seq(1, 8)]),
	io:format("sum ~p~n", [Sum]),
	halt(0).
