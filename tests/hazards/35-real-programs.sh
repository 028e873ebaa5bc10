#!/bin/sh
# SPDX-License-Identifier: MIT
# Unmodified Debian programs must print exactly what they print without the
# preload, on both streams, with the same exit status, also below sh -c, env -i
# and in helpers of another kind (static, set-uid) that cannot be preloaded.
dir=$(mktemp -d "${TMPDIR:-/tmp}/hz35.XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT; trap "exit 1" TERM INT
cd "$dir" || exit 2
i=0; while [ $i -lt 3000 ]; do echo "$i $((i * 7919 % 3001))"; i=$((i + 1)); done > data
fails=0 ran=0
try() {                                  # name, needed program, shell text
    command -v "$2" >/dev/null 2>&1 || return 0
    ran=$((ran + 1))
    rm -rf w; mkdir w; (cd w && timeout 15 sh -c "$3") > want 2>&1; wrc=$?
    rm -rf w; mkdir w; (cd w && timeout 15 env ${CASE_PRELOAD:+LD_PRELOAD="$CASE_PRELOAD"} sh -c "$3") > got 2>&1; grc=$?
    if [ $wrc -ne $grc ] || ! cmp -s want got; then
        fails=$((fails + 1))
        echo "$1: status $wrc/$grc" >&2; diff want got 2>/dev/null | head -5 >&2
    fi
}
py=; for p in /usr/bin/python3 /usr/bin/python3.11; do [ -x $p ] && py=$p; done
try pipes    sort   'sort -n -k2 --parallel=2 ../data | uniq -c | tail -3; echo e >&2; exit 3'
try nested   env    'env -i /bin/sh -c "echo clean; exit 4"; echo $?; sh -c "(sh -c \"echo deep\") & wait"'
try setuid   su     'su --version 2>&1 | head -1'
try closed   cat    'cat <&- 2>&1; echo x >&- ; echo $?'
try signals  sh     'sh -c "kill -TERM \$\$"; echo $?; (trap "echo trapped; exit 5" USR1; kill -USR1 $(sh -c "echo \$PPID"); sleep 1)'
try xz       xz     'xz -T2 -k -c ../data | xz -dc | cmp - ../data && echo same'
try tar      tar    'tar czf a.tgz -C .. data && tar xzf a.tgz && cmp data ../data && echo same'
try dd       dd     'dd if=../data of=o bs=1k conv=fsync status=none && cmp o ../data && sync o && echo synced'
try sqlite   sqlite3 'sqlite3 d.db "create table t(a,b); insert into t values(1,2); pragma integrity_check; select * from t"'
try perl     perl   'perl -e "\$p=fork; if(!\$p){exec \"sh\",\"-c\",\"exit 6\"} waitpid \$p,0; print \$?>>8,qq(\n)"'
try git      git    'git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m m && git log --format=%s'
if [ -n "$py" ]; then
try py_thr   "$py"  "$py -c 'import threading,queue
q=queue.Queue();r=[]
ts=[threading.Thread(target=lambda:[r.append(q.get()) for _ in range(50)]) for _ in range(4)]
[t.start() for t in ts];[q.put(i) for i in range(200)];[t.join() for t in ts];print(sorted(r)==list(range(200)))
e=threading.Event();threading.Timer(.02,e.set).start();print(e.wait(5))'"
try py_mp    "$py"  "$py -c 'import multiprocessing as m
if __name__==\"__main__\":
  with m.get_context(\"fork\").Pool(2) as p: print(sum(p.map(abs,range(-50,0))))
  with __import__(\"concurrent.futures\").futures.ThreadPoolExecutor(4) as p: print(sum(p.map(abs,range(-50,0))))'"
try py_sub   "$py"  "$py -c 'import subprocess,os
print(subprocess.run([\"sh\",\"-c\",\"echo o;echo e>&2;exit 7\"],capture_output=True));f=open(\"f\",\"wb\",0);f.write(b\"z\");os.fsync(f);os.fdatasync(f);print(os.stat(\"f\").st_size,f.fileno())'"
fi
[ $ran -ge 5 ] || echo "only $ran programs found" >&2
[ $fails -eq 0 ] && echo ok
[ $fails -eq 0 ]
