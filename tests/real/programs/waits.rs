// SPDX-License-Identifier: MIT
// Channels, Mutex, Condvar, RwLock, park and join of Rust's standard library:
// all of them are futexes through syscall().  Deterministic sums are printed.
use std::io::Write;
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread;
use std::time::Duration;

const N: u64 = 1000;

fn channels() -> u64 {
    let (to, from) = sync_channel::<u64>(2);
    let (back, result) = channel::<u64>();
    let workers: Vec<_> = (0..4)
        .map(|w| {
            let to = to.clone();
            thread::spawn(move || {
                for i in 0..N {
                    to.send(w * N + i).unwrap();
                }
            })
        })
        .collect();
    drop(to);
    let adder = thread::spawn(move || back.send(from.iter().sum()).unwrap());
    for w in workers {
        w.join().unwrap();
    }
    adder.join().unwrap();
    result.recv().unwrap()
}

fn locks() -> (u64, u64) {
    let count = Arc::new(Mutex::new(0u64));
    let table = Arc::new(RwLock::new(vec![0u64; 16]));
    let start = Arc::new(Barrier::new(6));
    let threads: Vec<_> = (0..6)
        .map(|w| {
            let (count, table, start) = (count.clone(), table.clone(), start.clone());
            thread::spawn(move || {
                start.wait();
                for i in 0..N {
                    let mut c = count.lock().unwrap();
                    *c += 1;
                    if i % 200 == 0 {
                        thread::sleep(Duration::from_micros(200));
                    }
                    drop(c);
                    if (i + w) % 10 == 0 {
                        let mut t = table.write().unwrap();
                        t[(i % 16) as usize] += 1;
                        if i % 100 == 0 {
                            thread::sleep(Duration::from_micros(50));
                        }
                    } else {
                        let t = table.read().unwrap();
                        assert!(t.len() == 16);
                    }
                }
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    let sum = table.read().unwrap().iter().sum();
    let c = *count.lock().unwrap();
    (c, sum)
}

fn hand_over() -> u64 {
    let turn = Arc::new((Mutex::new(0u64), Condvar::new()));
    let threads: Vec<_> = (0..2)
        .map(|me| {
            let turn = turn.clone();
            thread::spawn(move || {
                let (m, c) = &*turn;
                for _ in 0..N {
                    let mut t = m.lock().unwrap();
                    while *t % 2 != me {
                        t = c.wait(t).unwrap();
                    }
                    *t += 1;
                    c.notify_all();
                }
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    let t = *turn.0.lock().unwrap();
    t
}

fn parked() -> u64 {
    let sleeper = thread::spawn(|| {
        thread::park_timeout(Duration::from_millis(2));
        let mut f = std::fs::File::create("file").unwrap();
        for _ in 0..20 {
            f.write_all(&[b'x'; 512]).unwrap();
            f.sync_data().unwrap();
        }
        f.metadata().unwrap().len()
    });
    sleeper.thread().unpark();
    sleeper.join().unwrap()
}

fn main() {
    println!("channels {}", channels());
    println!("locks {:?}", locks());
    println!("turns {}", hand_over());
    println!("file {}", parked());
}
