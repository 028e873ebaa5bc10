// SPDX-License-Identifier: MIT
// Threads that hand numbers on by a monitor (synchronized, wait, notifyAll), by
// a queue and by a lock (both park), and write to a file; the sums are printed.
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

public class Waits {
	static final int N = 12000; // some seconds: rules for the machine's own library take one

	static class Slot {
		private int value;
		private boolean full;

		synchronized void put(int v) throws InterruptedException {
			while (full)
				wait();
			value = v;
			full = true;
			notifyAll();
		}

		synchronized int take() throws InterruptedException {
			while (!full)
				wait();
			full = false;
			notifyAll();
			return value;
		}
	}

	interface Body {
		void run() throws Exception;
	}

	static final List<Thread> threads = new ArrayList<>();

	static void start(String name, Body body) {
		Thread t = new Thread(() -> {
			try {
				body.run();
			} catch (Exception e) {
				e.printStackTrace();
				System.exit(3);
			}
		}, name);
		t.start();
		threads.add(t);
	}

	public static void main(String[] args) throws Exception {
		Slot slot = new Slot();
		ArrayBlockingQueue<Integer> queue = new ArrayBlockingQueue<>(4);
		ReentrantLock lock = new ReentrantLock();
		AtomicLong bySlot = new AtomicLong(), byQueue = new AtomicLong();
		long[] counted = new long[1];
		for (int i = 0; i < 2; i++) {
			start("put", () -> { for (int k = 0; k < N; k++) slot.put(k); });
			start("take", () -> { for (int k = 0; k < N; k++) bySlot.addAndGet(slot.take()); });
			start("offer", () -> { for (int k = 0; k < N; k++) queue.put(k); });
			start("poll", () -> { for (int k = 0; k < N; k++) byQueue.addAndGet(queue.take()); });
			start("lock", () -> {
				for (int k = 0; k < N; k++) {
					lock.lock();
					try {
						counted[0]++;
						if (k % 100 == 0)
							Thread.sleep(1);
					} finally {
						lock.unlock();
					}
				}
			});
		}
		start("file", () -> {
			try (RandomAccessFile f = new RandomAccessFile("file", "rw")) {
				for (int k = 0; k < 20; k++) {
					f.write(new byte[4096]);
					f.getFD().sync();
				}
			}
		});
		for (Thread t : threads)
			t.join();
		System.out.println("slot " + bySlot + ", queue " + byQueue + ", lock " + counted[0]);
	}
}
